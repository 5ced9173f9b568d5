-- panto.async.lock: named locks that native tools and all extensions share. The agent holds the table; who waits is first come,
-- first served.

return function(core, host_calls)
  ---Runs fn alone among all that use the same name; write and edit use "file:<real path>".
  ---@param name string
  ---@param fn fun(): any
  return function(name, fn)
    if type(name) ~= "string" then
      error("lock: the name must be a string, not " .. type(name), 2)
    end
    local held = host_calls.ask("lock", name)
    local _ <close> = setmetatable({}, {
      __close = function()
        core.post("unlock", { id = held })
      end,
    })
    return fn()
  end
end

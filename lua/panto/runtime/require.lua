-- A require whose module bodies may yield, and that looks into the extension's own folder first.
--
-- Lua's require calls the loader from C, so that a body cannot wait for anything. Here that step is Lua. Two tasks may then ask
-- for one module while its body waits: the second waits for the first, and a circle of such waits is an error.

---@class panto.runtime.Loading  -- a module whose body runs
---@field name string
---@field task integer             0 outside every task
---@field waiters (fun())[]

return function(core, extensions)
  ---@type table<string, panto.runtime.Loading>
  local loading = {}
  -- task -> what it waits for
  ---@type table<integer, panto.runtime.Loading>
  local waits_for = {}

  local function read_file(path)
    local file = io.open(path, "rb")
    if not file then
      return nil
    end
    local text = file:read("a")
    file:close()
    return text
  end

  -- The module in the extension's own folder: loader and file, or nil.
  local function find_own(source, name)
    local relative = name:gsub("%.", "/")
    for _, suffix in ipairs { ".lua", "/init.lua" } do
      local path = source.dir .. "/" .. relative .. suffix
      local text = read_file(path)
      if text then
        local loader, err = load(text, "@" .. source.prefix .. "/" .. relative .. suffix)
        if not loader then
          error("error loading module '" .. name .. "':\n\t" .. err, 0)
        end
        return loader, path
      end
    end
  end

  -- As Lua's manual says for require: the searchers in order, the first that returns a function.
  local function find_installed(name)
    local tried = {}
    for _, searcher in ipairs(package.searchers) do
      local loader, extra = searcher(name)
      if type(loader) == "function" then
        return loader, extra
      elseif type(loader) == "string" then
        tried[#tried + 1] = "\n\t" .. loader
      end
    end
    error("module '" .. name .. "' not found:" .. table.concat(tried), 0)
  end

  -- Follows who waits for whom from `target` on; the names on the way when it comes back to `task`, else nil.
  local function find_circle(target, task)
    local names = { target.name }
    while target and target.task ~= task do
      target = waits_for[target.task]
      if target then
        names[#names + 1] = target.name
      end
    end
    return target and names
  end

  local function wait_until_loaded(key, task)
    local target = loading[key]
    local circle = find_circle(target, task)
    if circle then
      circle[#circle + 1] = target.name
      error("modules require each other in a circle: " .. table.concat(circle, " <- "), 0)
    end
    if task == 0 then
      error("module '" .. target.name .. "' is still loading in another task", 0)
    end
    waits_for[task] = target
    local _ <close> = setmetatable({}, {
      __close = function()
        waits_for[task] = nil
      end,
    })
    core.await(function(resume)
      target.waiters[#target.waiters + 1] = resume
    end)
  end

  -- Runs the module's body. `loaded[name]` holds the value afterwards.
  local function run_body(key, loaded, name, loader, extra)
    local entry = { name = name, task = core.task(), waiters = {} }
    loading[key] = entry
    local _ <close> = setmetatable({}, {
      __close = function()
        loading[key] = nil
        for _, resume in ipairs(entry.waiters) do
          resume()
        end
      end,
    })
    local value = loader(name, extra)
    if value ~= nil then
      loaded[name] = value
    elseif loaded[name] == nil then
      loaded[name] = true
    end
  end

  -- The extension whose folder counts: the one that runs, unless the line that calls is known to be somebody else's.
  local function calling_source()
    local source = extensions.current_source()
    if not source then
      return nil
    end
    -- 1 is this function, 2 require, 3 the C function around it (below).
    local caller = debug.getinfo(4, "S")
    local chunk = caller and caller.source
    local foreign = chunk and chunk:sub(1, 1) == "@" and chunk:sub(2, 1 + #source.prefix) ~= source.prefix
    return not foreign and source or nil
  end

  ---@param name string
  ---@return any value, any extra
  local function require_module(name)
    if type(name) ~= "string" then
      error("bad argument #1 to 'require' (string expected, got " .. type(name) .. ")", 0)
    end
    local source = calling_source()
    while true do
      local own = source and source.loaded
      if own and own[name] ~= nil then
        return own[name]
      end
      local own_key = source and source.id .. "\0" .. name
      if own_key and loading[own_key] then
        wait_until_loaded(own_key, core.task())
      else
        local loader, extra
        if source then
          loader, extra = find_own(source, name)
        end
        if loader then
          run_body(own_key, own, name, loader, extra)
          return own[name], extra
        elseif package.loaded[name] ~= nil then
          return package.loaded[name]
        elseif loading[name] then
          wait_until_loaded(name, core.task())
        else
          loader, extra = find_installed(name)
          run_body(name, package.loaded, name, loader, extra)
          return package.loaded[name], extra
        end
      end
    end
  end

  -- `return require "x"` is a tail call; behind one of a Lua function, errors could not name the line.
  return core.c_function(require_module)
end

-- panto.json: the runtime's own JSON conversion, for extensions.

---@return panto.json
return function(core)
  local json = { null = core.null, decode = core.json_decode }

  ---@param value any
  ---@param opts? { pretty: boolean, sort_keys: boolean }
  ---@return string? text, string? err
  function json.encode(value, opts)
    return core.json_encode(value, opts and opts.pretty, opts and opts.sort_keys)
  end

  ---@generic T: table
  ---@param t T
  ---@return T
  function json.array(t)
    return setmetatable(t, core.array_metatable)
  end

  ---@return boolean
  function json.is_array(t)
    return type(t) == "table" and getmetatable(t) == core.array_metatable
  end

  return json
end

-- The numbers of counter.lua.
local M = {}

---@type table<string, integer>
local values = {}

-- Safe without a lock, although calls run at the same time: a handler is only interrupted where it waits, and nothing waits here.
---@param name string
---@param amount integer
---@return integer value  the new one
function M.add(name, amount)
  values[name] = (values[name] or 0) + amount
  return values[name]
end

return M

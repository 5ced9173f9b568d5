-- table.sort, with its own comparison and with one in Lua.
local function numbers(count)
  local list, seed = {}, 42
  for i = 1, count do
    seed = (seed * 1103515245 + 12345) % 2147483648
    list[i] = seed
  end
  return list
end

return function(size)
  local up, down = numbers(size), numbers(size)
  table.sort(up)
  table.sort(down, function(a, b)
    return a > b
  end)
  assert(up[1] == down[size])
end

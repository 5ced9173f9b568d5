-- Pattern matching: find, gmatch, gsub.
local text = ("The quick brown fox (born 1987-06-05) jumps over 12 lazy dogs; key=value, other = 'thing'.\n"):rep(
  20
)

return function(size)
  local found = 0
  for _ = 1, size do
    for year in text:gmatch("(%d%d%d%d)%-%d%d%-%d%d") do
      found = found + tonumber(year)
    end
    for key, value in text:gmatch("(%w+)%s*=%s*([%w']+)") do
      found = found + #key + #value
    end
    found = found + #text:gsub("%a+", string.upper) + select(2, text:gsub("[aeiou]", "*"))
    found = found + (text:find("lazy cats", 1, true) or 0) + (text:find("x%s-y$") or 0)
  end
  return found
end

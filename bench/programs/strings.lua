-- String building: formatting, concatenation, table.concat, and the garbage of it.
return function(size)
  local length = 0
  for round = 1, size do
    local parts = {}
    for i = 1, 1000 do
      parts[#parts + 1] = ("%d:%s"):format(i, "item" .. (i % 17)) .. "," .. round
    end
    length = length + #table.concat(parts, "\n")
  end
  return length
end

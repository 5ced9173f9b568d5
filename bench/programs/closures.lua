-- Closures, upvalues, varargs and metamethods.
local function compose(...)
  local steps = { ... }
  return function(value)
    for i = 1, #steps do
      value = steps[i](value)
    end
    return value
  end
end

local function adder(amount)
  return function(value)
    return value + amount
  end
end

local Counter = {}
Counter.__index = Counter

function Counter.__call(self, amount)
  self.total = self.total + amount
  return self.total
end

return function(size)
  local counter = setmetatable({ total = 0 }, Counter)
  for i = 1, size do
    local run = compose(adder(i), adder(-1), function(value)
      return counter(value)
    end)
    run(i)
  end
  return counter.total
end

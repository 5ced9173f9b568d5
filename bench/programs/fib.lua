-- Calls and integer arithmetic.
local function fib(n)
  if n < 2 then
    return n
  end
  return fib(n - 1) + fib(n - 2)
end

return function(size)
  assert(fib(20) == 6765)
  return fib(size)
end

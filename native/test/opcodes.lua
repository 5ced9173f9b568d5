-- Every instruction of the virtual machine, many of them with metamethods. Returns a digest of all values on the way.
-- opcodes_test.cc runs it again and again with interruptions: the digest must stay the same.

local digest, count = 17, 0
local function note(...)
  for i = 1, select("#", ...) do
    local text = tostring((select(i, ...)))
    if text:find("^%a+: ") then
      text = type((select(i, ...))) -- an address differs from run to run
    end
    for j = 1, #text do
      digest = (digest * 31 + text:byte(j)) % 0x7fffffff
    end
    count = count + 1
  end
end

local names = "add sub mul mod pow div idiv band bor bxor shl shr unm bnot concat len eq lt le call"
local meta = {}
for name in names:gmatch("%a+") do
  meta["__" .. name] = function(a, b)
    local x = type(a) == "table" and a.value or a
    local y = type(b) == "table" and b.value or b
    note(name, x, y)
    if name == "eq" or name == "lt" or name == "le" then
      return x ~= y
    end
    return name .. tostring(x) .. tostring(y)
  end
end
meta.__index = function(t, key)
  note("index", key)
  return rawget(t, "value")
end
meta.__newindex = function(t, key, value)
  note("newindex", key, value)
  rawset(t, key, value)
end
meta.__close = function(t, err)
  note("close", rawget(t, "value"), err)
end
local function object(value)
  return setmetatable({ value = value }, meta)
end

-- Arithmetic and bits: registers, constants and immediates, integers, floats, strings that are numbers.
local function arithmetic(a, b)
  note(a + b, a - b, a * b, a % b, a ^ b, a / b, a // b)
  note(
    a + 1,
    1 + a,
    a - 1,
    a * 3,
    a % 5,
    a ^ 2,
    a / 4,
    a // 3,
    a + 300000,
    a - 2.5,
    3.5 - a,
    a * 2.5,
    a % 1.5
  )
  note(-a, a + -7, a - -7)
end
local function bits(a, b)
  note(a & b, a | b, a ~ b, a << b, a >> b, a & 7, a | 8, a ~ 9, a << 1, 1 << a, a >> 1, ~a, a & 0xffffffff)
end
for _, pair in ipairs { { 7, 3 }, { 7.5, 2 }, { -7, 3.25 }, { "10", 3 } } do
  arithmetic(pair[1], pair[2])
end
bits(13, 3)
bits(7.0, 2)
arithmetic(object(7), object(3))
arithmetic(object(2), 5)
arithmetic(5, object(2))
bits(object(6), 3)
bits(3, object(6))

-- Comparisons: registers, constants, immediates, with and without metamethods; and, or, not.
local function compare(a, b)
  note(a == b, a ~= b, a < b, a <= b, a > b, a >= b, not a, a and b, a or b)
end
compare(1, 2)
compare(2.5, 2)
compare("a", "b")
compare(object(1), object(2))
local function compare_constants(a)
  note(a == 3, a == "x", a == 3.5, a == nil, a == true, a == false, 3 == a, a ~= 70000)
end
compare_constants(3)
compare_constants("x")
compare_constants(nil)
local function compare_immediates(a)
  note(a < 3, a <= 3, a > 3, a >= 3, 3 < a, 3 <= a, a < 3.0, a >= -2.0)
  if a < 10 then
    note("less")
  elseif a > 20 then
    note("more")
  end
end
compare_immediates(3)
compare_immediates(25.5)
compare_immediates(object(3))
local function truth(a, b)
  local c = a and b or "none"
  local d = not (a or b)
  while a do
    a = not a
  end
  return c, d
end
note(truth(1, 2))
note(truth(false, nil))

-- Tables: fields, integers, registers, upvalues, self, list constructors, length, concatenation.
local t = { 1, 2, 3, x = "y", [10] = "ten", n = nil }
t.field, t[1], t["x"], t[t.x] = "f", "one", "z", 5
note(t.field, t[1], t[2], t[10], t.x, t.z, #t, t[1] .. t[2] .. t.x)
local key = "dynamic"
t[key] = key
t[1.0] = "float key"
note(t[key], t[1], #"text")
local o = object(1)
o.new, o[3], o[key] = "n", "i", "d"
note(o.missing, o[99], o[key .. "x"], o .. "s", "s" .. o, o .. o, #o, o(1))
function t:method(...)
  note(self == t, ...)
  return ...
end
note(t:method(1, 2, 3))
note(#{ t:method(1, nil, 3, nil) }, select("#", table.unpack({ 1, nil, 3 }, 1, 3)))
global_of_opcodes = { up = 1 }
global_of_opcodes.up = global_of_opcodes.up + 1
note(global_of_opcodes.up)

-- Loops of every form, goto, closures over loop variables, closed and shared upvalues.
for i = 1, 3 do
  note(i)
end
for i = 3, 1, -1 do
  note(i)
end
for i = 1.0, 2.0, 0.5 do
  note(i)
end
for i = math.maxinteger - 1, math.maxinteger do
  note(i)
end
for i = 1, 0 do
  note("never", i)
end
local closures = {}
for i, v in ipairs { "a", "b", "c" } do
  local shared = i
  closures[#closures + 1] = function(step)
    shared = shared + (step or 0)
    return v .. shared
  end
end
note(closures[1](), closures[2](5), closures[2](), closures[3]())
do
  local i = 1
  ::again::
  local captured = i
  closures[i] = function()
    return captured
  end
  i = i + 1
  if i < 4 then
    goto again
  end
end
note(closures[1](), closures[2](), closures[3]())
repeat
  local last = t[1]
until last
local function iterate(limit)
  return function(state, at)
    return at < state and at + 1 or nil
  end, limit, 0, object("iterator")
end
for i in iterate(3) do
  note(i)
  if i == 2 then
    break
  end
end

-- Calls: varargs, tail calls, multiple results, no results, pcall, error objects, closers, coroutines.
local function varargs(...)
  local a, b = ...
  local all = { ... }
  return a, b, #all, select("#", ...), ...
end
note(varargs())
note(varargs(1, 2, 3))
note((varargs(1, 2, 3)))
local function fixed(a)
  return a
end
local function tail(n, ...)
  if n == 0 then
    return ...
  end
  return tail(n - 1, n, ...)
end
note(fixed(1, 2), tail(5), pcall(fixed, 1), fixed())
local function tail_with_upvalue(n)
  local kept = function()
    return n
  end
  return fixed(kept())
end
note(tail_with_upvalue(9))
local function closing(fail)
  local a <close> = object("a")
  local b <const> = 5
  local c <close> = object("c")
  if fail then
    error(object("thrown"))
  end
  return b, a.value, c.value
end
note(closing(false))
local ok, err = pcall(closing, true)
note(ok, rawget(err, "value"))
note(select(
  2,
  xpcall(closing, function(e)
    return "handled " .. rawget(e, "value")
  end, true)
))
note(select(
  2,
  pcall(function()
    return nil .. "x"
  end)
) ~= nil)
local co = coroutine.wrap(function(...)
  local _ <close> = object("in coroutine")
  local got = coroutine.yield(...)
  for i = 1, 3 do
    got = coroutine.yield(got, i)
  end
  return "end", got
end)
note(co(1, 2))
note(co("x"))
note(co("y"))
note(co("z"))
note(co("last"))
local text = ("a,b,,c"):gsub("(%a?),", function(letter)
  return letter .. letter .. ";"
end)
note(text)
table.sort(t, function(a, b)
  return tostring(a) < tostring(b)
end)
note(t[1], t[2], t[3])
note(load("local a = ... return a * 2")(21))

-- More constants than an instruction can number, and a list that is longer than one can say.
local parts = {}
for i = 1, 140000 do
  parts[i] = i + 0.5
end
local many = load(
  "local first, t = ... local x = { " .. table.concat(parts, ",") .. " } return first, #x, x[139999], x[3]"
)
note(many("many"))

global_of_opcodes = nil
return digest .. " of " .. count

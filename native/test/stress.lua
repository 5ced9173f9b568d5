-- Eight kinds of work for stress_test.cc, and one that never ends. Each computes a result that is known, over <close> variables
-- that are counted.
--
-- A variable counts as open from the statement after its declaration on: between the making of its value and the declaration an
-- interrupt may come, and then there is nothing to close yet. Each count is one assignment, which an interrupt cannot split.

local sleep, spawn = panto.async.sleep, panto.async.spawn

local is_open, closed, twice, finalized = {}, 0, 0, 0

local function closer()
  return setmetatable({}, {
    __close = function(self)
      if self.closed then
        twice = twice + 1
      end
      self.closed = true
      is_open[self] = nil
      closed = closed + 1
    end,
  })
end

local function open(c)
  is_open[c] = true
end

local kinds = {}

function kinds.computes()
  local sum = 0
  for _ = 1, 40 do
    local c <close> = closer()
    open(c)
    for j = 1, 3000 do
      sum = sum + j % 7
    end
    sleep(0.001)
  end
  return sum
end

function kinds.recurses()
  local sum = 0
  local function fib(n)
    return n < 2 and n or fib(n - 1) + fib(n - 2)
  end
  for _ = 1, 6 do
    sum = sum + fib(14)
    sleep(0.001)
  end
  return sum
end

-- The generator never suspends inside its <close>: it would not be closed with its task.
function kinds.generates()
  local sum = 0
  local generate = coroutine.wrap(function()
    for i = 1, 20 do
      do
        local c <close> = closer()
        open(c)
        if i % 5 == 0 then
          sleep(0.001)
        end
      end
      coroutine.yield(i)
    end
  end)
  for _ = 1, 20 do
    sum = sum + generate()
    local litter = {} -- luacheck: ignore 241
    for k = 1, 50 do
      litter[k] = { k }
    end
  end
  return sum
end

function kinds.calls_back()
  local sum = 0
  for _ = 1, 8 do
    local t = {}
    for k = 1, 300 do
      t[k] = (k * 7919) % 301
    end
    table.sort(t, function(a, b)
      return a < b
    end)
    sum = sum + t[150]
    local text = ("ab"):rep(200):gsub("a", function()
      local c <close> = closer()
      open(c)
      return "c"
    end)
    sum = sum + #text
    sleep(0.001)
  end
  return sum
end

function kinds.has_metamethods()
  local sum = 0
  for _ = 1, 10 do
    local ok, value = pcall(function()
      local c <close> = closer()
      open(c)
      local d <close> = closer()
      open(d)
      local t = setmetatable({}, {
        __index = function(_, k)
          return k
        end,
        __lt = function()
          return true
        end,
        __concat = function()
          return "q"
        end,
      })
      for k = 1, 200 do
        sum = sum + t[k] % 3
        assert(t .. t == "q" and t < t)
      end
      sleep(0.001)
      return 1
    end)
    if not ok then
      error(value, 0)
    end
    sum = sum + value
    setmetatable({}, {
      __gc = function()
        finalized = finalized + 1
      end,
    })
  end
  return sum
end

function kinds.fails()
  local sum = 0
  for i = 1, 5 do
    local _, err = xpcall(function()
      local c <close> = closer()
      open(c)
      error("boom", 0)
    end, function(message)
      for _ = 1, 50 do
      end
      return type(message) == "string" and message .. i or message
    end)
    if type(err) ~= "string" then
      error(err, 0)
    end
    sum = sum + #err
    local co = coroutine.create(function()
      local value
      do
        local c <close> = closer()
        open(c)
        value = coroutine.wrap(function()
          local d <close> = closer()
          open(d)
          sleep(0.001)
          return 5
        end)()
      end
      coroutine.yield(value)
    end)
    local ok, value = coroutine.resume(co)
    if not ok then
      error(value, 0)
    end
    sum = sum + value
    coroutine.close(co)
    sum = sum + load("local a = ... return a * 2")(i)
  end
  return sum
end

function kinds.searches()
  local sum = 0
  for _ = 1, 4 do
    for word in ("abc def ghi"):gmatch("%a+") do
      sum = sum + #word
    end
    sum = sum + ((("a"):rep(60) .. "c"):find(".-.-.-b") or 1)
    sum = sum + #table.concat { ("x"):rep(100), "y" }
    sleep(0.001)
  end
  return sum
end

function kinds.spawns()
  local sum = 0
  for _ = 1, 5 do
    spawn(function()
      local c <close> = closer()
      open(c)
      sleep(0.001)
      for _ = 1, 1000 do
        sum = sum + 1
      end
    end)
    sleep(0.002)
  end
  panto.async.gather {
    function()
      sleep(0.005)
    end,
    function()
      sleep(0.005)
    end,
  }
  return select("#", sum)
end

-- The ninth kind: it only ends by a stop.
function kinds.spins()
  while true do
    pcall(function()
      local c <close> = closer()
      open(c)
      for _ = 1, 1000 do
        coroutine.wrap(function()
          local d <close> = closer()
          open(d)
        end)()
      end
    end)
  end
end

return {
  name = "test.stress",
  activate = function(ext)
    local function tool(name, handler)
      ext.register_tool { name = name, description = name, schema = { type = "object" }, handler = handler }
    end
    for name, kind in pairs(kinds) do
      tool(name, function()
        return "result " .. kind()
      end)
    end
    tool("counts", function()
      collectgarbage()
      local left = 0
      for _ in pairs(is_open) do
        left = left + 1
      end
      return ("left open %d closed %d twice %d finalized %d"):format(left, closed, twice, finalized)
    end)
  end,
}

-- Loaded into every runtime of runaway and cancel tests: counted <close> variables, a log, and a tool that must come to no harm
-- whatever happens beside it.

sleep, await, spawn, defer, is_cancelled =
  panto.async.sleep, panto.async.await, panto.async.spawn, panto.async.defer, panto.async.is_cancelled

-- `opened` counts variables that exist, `closed` calls of __close, `twice` those of one that had been closed before.
closers = { opened = 0, closed = 0, twice = 0 }

function closer(name, fn)
  closers.opened = closers.opened + 1
  return setmetatable({ name = name }, {
    __close = function(self, err)
      if self.closed then
        closers.twice = closers.twice + 1
      end
      self.closed = true
      closers.closed = closers.closed + 1
      if fn then
        fn(err)
      end
      lines[#lines + 1] = name
    end,
  })
end

lines = {}

function log(text)
  lines[#lines + 1] = tostring(text)
end

-- Calls body(depth) below `depth` coroutines, each with two <close> variables.
function nest(depth, body, close)
  local _ <close> = closer("L" .. depth, close)
  if depth == 0 then
    return body()
  end
  return coroutine.wrap(function()
    local _ <close> = closer("C" .. depth, close)
    return nest(depth - 1, body, close)
  end)()
end

local function sibling()
  local sum = 0
  for _ = 1, 12 do
    for j = 1, 2000 do
      sum = sum + j % 7
    end
    sleep(0.003)
    local ok, err = pcall(function()
      local _ <close> = setmetatable({}, {
        __close = function()
          sleep(0.001)
          sum = sum + 1
        end,
      })
      sleep(0.001)
    end)
    assert(ok, err)
  end
  local generate = coroutine.wrap(function()
    for i = 1, 3 do
      sleep(0.001)
      coroutine.yield(i)
    end
  end)
  for _ = 1, 3 do
    sum = sum + generate()
  end
  return tostring(sum)
end

local function tool(ext, name, handler)
  ext.register_tool { name = name, description = name, schema = { type = "object" }, handler = handler }
end

return {
  name = "test.support",
  activate = function(ext)
    tool(ext, "sibling", sibling)
    tool(ext, "closers", function()
      return ("opened %d closed %d twice %d"):format(closers.opened, closers.closed, closers.twice)
    end)
    tool(ext, "log", function()
      return table.concat(lines, "; ")
    end)
    tool(ext, "collect", function()
      collectgarbage()
      collectgarbage()
    end)
  end,
}

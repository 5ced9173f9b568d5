-- panto.async: structured concurrency. The primitives (tasks, await, sleep, defer) are native; what is built from them is here.
-- docs/concurrency.md is the model.
--
-- The runtime does not interrupt this code itself, but an await in it may throw CANCEL: what is taken before an await is given
-- back by the function that start returns, or by a <close> variable.

local function closing(fn)
  return setmetatable({}, { __close = fn })
end

---@return panto.async
return function(core)
  local async = {
    await = core.await,
    sleep = core.sleep,
    defer = core.defer,
    is_cancelled = core.is_cancel,
  }

  ------------------------------------------------------------------------------------------------------ children

  ---@class panto.Child
  local Child = {}
  Child.__index = Child
  Child.__name = "panto.Child"

  local function wait_until_done(task)
    if core.outcome(task) == "running" then
      core.await(function(resume)
        core.when_done(task, resume)
      end)
    end
  end

  local function unpack_outcome(state, ...)
    if state == "failed" then
      error((...), 0)
    end
    return ...
  end

  ---Yields until the child has ended. Returns what it returned; rethrows its error, the same value. May be called again.
  function Child:await()
    wait_until_done(self.task)
    return unpack_outcome(core.outcome(self.task))
  end

  ---Asks the child to stop; awaiting it then throws.
  function Child:cancel()
    core.cancel(self.task)
  end

  local function to_child(task)
    return setmetatable({ task = task }, Child)
  end

  ---Starts fn(...) as a child of the running task, which does not end before it.
  function async.spawn(fn, ...)
    return to_child(core.spawn(nil, false, fn, ...))
  end

  ---Starts fn(...) for the extension that runs; nobody waits for it.
  function async.spawn_for_extension(fn, ...)
    return to_child(core.spawn(nil, true, fn, ...))
  end

  -- Waits until one of the tasks has ended; returns its index.
  local function wait_for_any(tasks)
    return core.await(function(resume)
      for i, task in pairs(tasks) do
        core.when_done(task, function()
          resume(i)
        end)
      end
    end)
  end

  local function cancel_all(tasks)
    for _, task in pairs(tasks) do
      core.cancel(task)
    end
  end

  ---Runs all functions, `limit` at a time; results in order, with n. The first error cancels the rest and is thrown; with
  ---`settle` each result is { ok, value, err }.
  function async.gather(fns, opts)
    local settle, limit = opts and opts.settle, opts and opts.limit or #fns
    local results, running, next_fn = { n = #fns }, {}, 1
    local _ <close> = closing(function()
      cancel_all(running)
    end)
    while next_fn <= #fns or next(running) do
      while next_fn <= #fns and limit > 0 do
        running[next_fn] = core.spawn(nil, false, fns[next_fn])
        next_fn, limit = next_fn + 1, limit - 1
      end
      if not next(running) then
        error("gather: limit must be at least 1", 2)
      end
      local i = wait_for_any(running)
      local state, value = core.outcome(running[i])
      running[i], limit = nil, limit + 1
      if settle then
        results[i] = state == "failed" and { ok = false, err = value } or { ok = true, value = value }
      elseif state == "failed" then
        error(value, 0)
      else
        results[i] = value
      end
    end
    return results
  end

  ---The first function to return or to fail decides; the rest are cancelled.
  function async.race(fns)
    local running = {}
    local _ <close> = closing(function()
      cancel_all(running)
    end)
    for i, fn in ipairs(fns) do
      running[i] = core.spawn(nil, false, fn)
    end
    if #running == 0 then
      error("race: no functions", 2)
    end
    local first = wait_for_any(running)
    return unpack_outcome(core.outcome(running[first]))
  end

  ---Runs fn(...) for at most `seconds`. Returns true, results… or false, "timeout"; errors of fn are thrown.
  function async.timeout(seconds, fn, ...)
    local task = core.spawn(seconds, false, fn, ...)
    local clock = core.spawn(nil, false, core.sleep, seconds)
    local _ <close> = closing(function()
      core.cancel(task)
      core.cancel(clock)
    end)
    wait_for_any { task, clock }
    local state = core.outcome(task)
    -- A function that computes without a pause is stopped by the runtime when the time is up.
    if state == "running" or state == "failed" and core.is_cancel((select(2, core.outcome(task)))) then
      return false, "timeout"
    end
    return true, unpack_outcome(core.outcome(task))
  end

  --------------------------------------------------------------------------------------------------- coordination

  -- A queue of tasks that wait for something. wait() suspends the task until wake() or wake_all() reaches it.
  local function new_line()
    local waiting = {}
    local line = {}

    function line.wait()
      core.await(function(resume)
        table.insert(waiting, resume)
        return function()
          for i, other in ipairs(waiting) do
            if other == resume then
              table.remove(waiting, i)
              break
            end
          end
        end
      end)
    end

    -- Whether somebody was woken.
    function line.wake()
      while #waiting > 0 do
        if table.remove(waiting, 1)() then
          return true
        end
      end
      return false
    end

    return line
  end

  ---A counter of permits. Those that a task has acquired are given back when it ends.
  function async.semaphore(n)
    local line, free = new_line(), n
    local semaphore = {}

    local function give_back()
      -- A permit goes to the next one in line directly.
      if not line.wake() then
        free = free + 1
      end
    end

    local function take()
      if free > 0 then
        free = free - 1
      else
        line.wait()
      end
    end

    -- Permits that tasks hold: task -> functions that take back the defer of each, newest last.
    local held = {}

    function semaphore:acquire()
      take()
      local task = core.task()
      local offs = held[task] or {}
      held[task] = offs
      table.insert(
        offs,
        core.defer(function()
          held[task] = nil
          give_back()
        end)
      )
    end

    function semaphore:release()
      local offs = held[core.task()]
      local off = offs and table.remove(offs)
      if not off then
        error("release without acquire", 2)
      end
      off()
      if #offs == 0 then
        held[core.task()] = nil
      end
      give_back()
    end

    function semaphore:with(fn)
      take()
      local _ <close> = closing(give_back)
      return fn()
    end

    return semaphore
  end

  ---A queue between tasks. push waits while it holds `limit` values, pop while it is empty; pop returns nil once it is closed
  ---and empty.
  function async.queue(limit)
    local values, first, last = {}, 1, 0
    local readers, writers, closed = new_line(), new_line(), false
    local queue = {}

    function queue:push(value)
      while not closed and limit and last - first + 1 >= limit do
        writers.wait()
      end
      if closed then
        error("the queue is closed", 2)
      end
      last = last + 1
      values[last] = value
      readers.wake()
    end

    function queue:pop()
      while first > last and not closed do
        readers.wait()
      end
      if first > last then
        return nil
      end
      local value = values[first]
      values[first] = nil
      first = first + 1
      writers.wake()
      return value
    end

    function queue:close()
      closed = true
      while readers.wake() do
      end
      while writers.wake() do
      end
    end

    return queue
  end

  return async
end

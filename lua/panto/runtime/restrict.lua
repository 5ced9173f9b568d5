-- What is refused in the agent's state: whatever ends, stops or replaces the host's process or loop, and state that belongs to the
-- whole process. Each refusal says what to do instead.

local function refuse(name, instead)
  return function()
    error(name .. " is refused inside panto: " .. instead, 2)
  end
end

local function restrict_process()
  os.exit = refuse("os.exit", "return from the handler, or raise an error")
  os.setlocale = refuse("os.setlocale", "the locale belongs to the whole process")
  debug.sethook = refuse("debug.sethook", "hooks belong to the runtime")
  local collect = collectgarbage
  function collectgarbage(option, ...)
    if option == "stop" then
      error('collectgarbage("stop") is refused inside panto: the heap is shared by all extensions', 2)
    end
    return collect(option, ...)
  end
end

local function restrict_luv(streams, uv)
  local warned = false
  function uv.run()
    if not warned then
      warned = true
      streams.log("warn", streams.who(), "uv.run does nothing inside panto: the loop already runs")
    end
    return nil, "loop already running"
  end
  uv.stop = refuse("uv.stop", "the loop is shared by all extensions")
  uv.loop_close = refuse("uv.loop_close", "the loop is shared by all extensions")
  uv.chdir = refuse("uv.chdir", "give the process that you start a cwd of its own")
  uv.os_setenv = refuse("uv.os_setenv", "give the process that you start an env of its own")
  uv.os_unsetenv = refuse("uv.os_unsetenv", "give the process that you start an env of its own")
end

return function(streams)
  restrict_process()
  local load = package.preload.luv
  local restricted = false
  local function load_restricted(...)
    local uv = load(...)
    if not restricted then
      restricted = true
      restrict_luv(streams, uv)
    end
    return uv
  end
  package.preload.luv = load_restricted
  package.preload.uv = load_restricted
end

-- What is refused in the agent's state: whatever ends, stops or replaces the host's process or loop, and state that belongs to the
-- whole process. Each refusal says what to do instead.

-- Extensions may replace the globals.
local type, rawget, setmetatable, error, tonumber = type, rawget, setmetatable, error, tonumber
local math = { type = math.type, tointeger = math.tointeger }

local function refuse(name, instead)
  return function()
    error(name .. " is refused inside panto: " .. instead, 2)
  end
end

local function restrict_process()
  os.exit = refuse("os.exit", "return from the handler, or raise an error")
  os.setlocale = refuse("os.setlocale", "the locale belongs to the whole process")
  debug.sethook = refuse("debug.sethook", "hooks belong to the runtime")
  -- What C libraries keep there under names may be read. The rest holds the runtime's own memory together.
  local registry = debug.getregistry()
  local view = setmetatable({}, {
    __index = function(_, key)
      return type(key) == "string" and rawget(registry, key) or nil
    end,
    __newindex = refuse("changing the registry", "keep what is yours in a module"),
  })
  function debug.getregistry()
    return view
  end
  -- The upvalues of a C function are its own memory.
  local set_upvalue, info = debug.setupvalue, debug.getinfo
  function debug.setupvalue(f, ...)
    if type(f) == "function" and info(f, "S").what == "C" then
      error("debug.setupvalue of a C function is refused inside panto", 2)
    end
    return set_upvalue(f, ...)
  end
  local collect = collectgarbage
  function collectgarbage(option, ...)
    if option == "stop" then
      error('collectgarbage("stop") is refused inside panto: the heap is shared by all extensions', 2)
    end
    return collect(option, ...)
  end
end

-- A descriptor that is closed twice may by then be somebody else's. Event loops end the process when one of theirs is gone: those
-- without a file type, and the pipes that were there before the first extension.
local function protect_descriptors(uv)
  local close, stat = uv.fs_close, uv.fs_fstat
  local pipes = {}
  local listing = uv.fs_scandir("/dev/fd")
  while listing do
    local name = uv.fs_scandir_next(listing)
    if not name then
      break
    end
    local fd = math.tointeger(tonumber(name))
    local found = fd and stat(fd)
    if found and found.type == "fifo" then
      pipes[fd] = found.ino
    end
  end
  function uv.fs_close(fd, ...)
    local found = math.type(fd) == "integer" and stat(fd)
    if found and (fd <= 2 or not found.type or pipes[fd] == found.ino) then
      error("uv.fs_close is refused inside panto: descriptor " .. fd .. " is not an extension's", 2)
    end
    return close(fd, ...)
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
  protect_descriptors(uv)
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

-- Standard streams inside the runtime: the terminal and the protocol are the agent's, so print, io.stdout, io.stderr and warn
-- write to the log, and io.stdin is at its end.

---@class panto.runtime.Streams
---@field log fun(level: string, who: string, text: string)
---@field who fun(): string  name of the running extension; set by extensions.lua

---@return panto.runtime.Streams
return function(core)
  local nowhere = "/dev/null"
  local file = core.log_file ~= "" and io.open(core.log_file, "a") or assert(io.open(nowhere, "a"))
  file:setvbuf("line")
  local empty = assert(io.open(nowhere, "r"))

  io.stdout, io.stderr, io.stdin = file, file, empty
  io.output(file)
  io.input(empty)

  local streams = {
    who = function()
      return ""
    end,
  }

  function streams.log(level, who, text)
    file:write(os.date("!%Y-%m-%dT%H:%M:%SZ"), " ", level, " ", who ~= "" and who .. ": " or "", text, "\n")
  end

  function print(...)
    local parts = table.pack(...)
    for i = 1, parts.n do
      parts[i] = tostring(parts[i])
    end
    streams.log("print", streams.who(), table.concat(parts, "\t"))
  end

  local warnings = true
  function warn(first, ...)
    local message = table.concat { first, ... }
    if message == "@on" or message == "@off" then
      warnings = message == "@on"
    elseif warnings and message:sub(1, 1) ~= "@" then
      streams.log("warn", streams.who(), message)
    end
  end

  return streams
end

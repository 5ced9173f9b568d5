-- The Lua side of the runtime: runs once at boot, builds the `panto` table and returns the control functions that the
-- TypeScript side calls, each in a task of its own. `core` is native/core/core_lib.cc.
local core = ...

local streams = require("panto.runtime.streams")(core)
require("panto.runtime.restrict")(streams)
local extensions = require("panto.runtime.extensions")(core, streams)
local host_calls = require("panto.runtime.host_calls")(core)
require = require("panto.runtime.require")(core, extensions)

local async = require("panto.async")(core)
async.lock = require("panto.runtime.locks")(core, host_calls)

---@diagnostic disable-next-line: lowercase-global
panto = setmetatable({
  async = async,
  json = require("panto.json")(core),
  ui = {
    ---@param text string
    ---@param level? "info"|"warn"|"error"
    notify = function(text, level)
      core.post(
        "notify",
        { text = tostring(text), level = level or "info", extension = extensions.current_name() }
      )
    end,
  },
}, {
  __index = function(_, key)
    if key == "ext" then
      -- No tail call: an error in there names the line that asked, two levels up.
      local handle = extensions.current_handle()
      return handle
    end
  end,
})

extensions.control.reply = host_calls.reply
return extensions.control

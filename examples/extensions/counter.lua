-- Keeps state between calls. A module is loaded once for an extension and stays as long as the extension, so what it holds is still
-- there in the next turn. `require` looks into the extension's own folder first: this is counter/tally.lua.
local tally = require("tally")

---@type panto.Entry
return {
  name = "demo.counter",
  description = "Counts by name, for as long as panto runs",
  activate = function(ext)
    ext.register_tool {
      name = "counter",
      description = "Add to a named counter and get its new value; add 0 to read it",
      schema = {
        type = "object",
        properties = {
          name = { type = "string", minLength = 1 },
          add = { type = "integer", description = "1 when absent" },
        },
        required = { "name" },
        additionalProperties = false,
      },
      -- It changes nothing outside panto.
      read_only = true,
      handler = function(input)
        return ("%s = %d"):format(input.name, tally.add(input.name, input.add or 1))
      end,
    }
  end,
}

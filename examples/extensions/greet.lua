-- One extension with a tool for the model and a command for the person, /greet NAME. The greeting can be changed in config.toml:
--
--   [extensions.settings."demo.greet"]
--   greeting = "Dzień dobry"

---@param ext panto.Ext
---@param name string
---@return string
local function greeting(ext, name)
  return ("%s, %s!"):format(ext.settings.greeting or "Hello", name)
end

---@type panto.Entry
return {
  name = "demo.greet",
  description = "Greets people",
  activate = function(ext)
    ext.register_tool {
      name = "greet",
      description = "Greet a person by name",
      schema = {
        type = "object",
        properties = { name = { type = "string", minLength = 1 } },
        required = { "name" },
        additionalProperties = false,
      },
      read_only = true,
      handler = function(input)
        return greeting(ext, input.name)
      end,
    }

    ext.register_command {
      name = "greet",
      description = "Greet somebody: /greet NAME",
      handler = function(args)
        local name = args:match("^%s*(.-)%s*$")
        return greeting(ext, name ~= "" and name or "world")
      end,
    }
  end,
}

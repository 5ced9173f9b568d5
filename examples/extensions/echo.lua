-- The smallest extension: a file that returns one tool.

---@type panto.Tool
return {
  name = "echo",
  description = "Give back a text as it is",
  schema = {
    type = "object",
    properties = { text = { type = "string", description = "What to give back" } },
    required = { "text" },
    additionalProperties = false,
  },
  read_only = true,
  handler = function(input)
    return input.text
  end,
}

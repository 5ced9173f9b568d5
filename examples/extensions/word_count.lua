-- Reads a file with plain Lua. io.open blocks the other handlers while it reads, which is fine for the text files that this tool is
-- meant for. An error that is raised becomes the result of the call, and the model sees its text.

local BLOCK = 64 * 1024

---@param file file*
---@return { lines: integer, words: integer, bytes: integer }
local function count(file)
  local counts = { lines = 0, words = 0, bytes = 0 }
  local in_word = false
  while true do
    local block, err = file:read(BLOCK)
    if err then
      error(err, 0)
    elseif not block then
      return counts
    end
    counts.bytes = counts.bytes + #block
    counts.lines = counts.lines + select(2, block:gsub("\n", ""))
    counts.words = counts.words + select(2, block:gsub("%S+", ""))
    -- A word that goes on from the block before has been counted there.
    if in_word and block:find("^%S") then
      counts.words = counts.words - 1
    end
    in_word = block:find("%S$") ~= nil
  end
end

---@type panto.Tool
return {
  name = "word_count",
  description = "Count the lines, words and bytes of a file",
  schema = {
    type = "object",
    properties = {
      path = { type = "string", minLength = 1, description = "Relative to the working folder, or absolute" },
    },
    required = { "path" },
    additionalProperties = false,
  },
  read_only = true,
  handler = function(input)
    local file <close>, err = io.open(input.path, "rb")
    if not file then
      error(err, 0)
    end
    local counts = count(file)
    return {
      content = ("%d lines, %d words, %d bytes"):format(counts.lines, counts.words, counts.bytes),
      details = counts,
    }
  end,
}

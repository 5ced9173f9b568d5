-- GETs a page over http, with luv's sockets. All calls of one turn run at the same time, because each of them only waits: see
-- fetch/http.lua for how a callback becomes something to wait for.
local http = require("http")

-- What the model gets to see of a body.
local MAX_TEXT = 20000

---@type panto.Tool
return {
  name = "fetch",
  description = "GET an http:// URL and return the status and the body. No https, no redirects",
  schema = {
    type = "object",
    properties = { url = { type = "string", minLength = 1 } },
    required = { "url" },
    additionalProperties = false,
  },
  timeout = 30,
  -- Not read_only: an address can carry away what the model has read, so panto asks first.
  handler = function(input, call)
    call:update("asking " .. input.url)
    local response, err = http.get(input.url)
    if not response then
      error(input.url .. ": " .. err, 0)
    end
    local lines = { ("%d %s"):format(response.status, response.reason) }
    if response.headers.location then
      lines[#lines + 1] = "location: " .. response.headers.location
    end
    lines[#lines + 1] = ""
    lines[#lines + 1] = response.body:sub(1, MAX_TEXT)
    if #response.body > MAX_TEXT then
      lines[#lines + 1] = ("[the first %d of %d bytes]"):format(MAX_TEXT, #response.body)
    end
    return {
      content = table.concat(lines, "\n"),
      is_error = response.status >= 400,
      details = { status = response.status, bytes = #response.body },
    }
  end,
}

-- A small HTTP/1.1 client over luv: one request a connection, http only. Everything that waits goes through panto.async.await, which
-- takes a function that starts something and hands it `resume`. A socket is closed when its function is left, on every path: at the
-- end, after an error, and when the call is cancelled or runs out of time.
local uv = require("luv")
local await = panto.async.await

---@class fetch.Response
---@field status integer
---@field reason string
---@field headers table<string, string>  names in lower case
---@field body string

---@class fetch.Url
---@field host string       without brackets
---@field port integer
---@field authority string  as the Host header has it
---@field target string     path and query

local MAX_RESPONSE = 4 * 1024 * 1024

---@param url string
---@return fetch.Url? parts, string? err
local function parse_url(url)
  if url:find("[%c%s]") then
    return nil, "not a URL: it has a space or a control character in it"
  end
  local authority, rest = url:match("^[hH][tT][tT][pP]://([^/?#]+)([^#]*)")
  if not authority then
    return nil, "not an http:// URL"
  elseif authority:find("@") then
    return nil, "a name or password in the URL is not supported"
  end
  local host, port = authority:match("^%[([%x:.]+)%]:?(%d*)$")
  if not host then
    host, port = authority:match("^([^:]+):?(%d*)$")
  end
  local number = port == "" and 80 or math.tointeger(tonumber(port))
  if not host or not number or number < 1 or number > 65535 then
    return nil, "not a host and port: " .. authority
  end
  local target = rest:sub(1, 1) == "/" and rest or "/" .. rest
  return { host = host, port = number, authority = authority, target = target }
end

---@param host string
---@return { addr: string }[]? addresses, string? err
local function resolve(host)
  local err, addresses = await(function(resume)
    local request, failure = uv.getaddrinfo(host, nil, { socktype = "stream" }, resume)
    if not request then
      resume(failure)
      return
    end
    -- Called when the task is cancelled while it waits.
    return function()
      uv.cancel(request)
    end
  end)
  if err then
    return nil, "cannot find " .. host .. ": " .. err
  end
  return addresses
end

-- luv's calls either start, and call back with err or nil, or fail at once with nil, err.
---@param start fun(callback: fun(err: string?)): any, string?
---@return string? err
local function wait_for(start)
  return await(function(resume)
    local started, err = start(resume)
    if not started then
      resume(err)
    end
  end)
end

-- Everything until the other side closes.
---@return string? bytes, string? err
local function read_all(socket)
  local chunks, size = {}, 0
  local err = await(function(resume)
    local started, failure = socket:read_start(function(err, chunk)
      if err or not chunk then
        resume(err)
        return
      end
      chunks[#chunks + 1] = chunk
      size = size + #chunk
      if size > MAX_RESPONSE then
        socket:read_stop()
        resume(("the response is larger than %d bytes"):format(MAX_RESPONSE))
      end
    end)
    if not started then
      resume(failure)
    end
  end)
  if err then
    return nil, err
  end
  return table.concat(chunks)
end

---@return string? bytes, string? err, boolean? connected  whether it was not for the connection that it failed
local function exchange(address, port, request)
  local socket = uv.new_tcp()
  local _ <close> = setmetatable({}, {
    __close = function()
      socket:close()
    end,
  })
  local err = wait_for(function(callback)
    return socket:connect(address, port, callback)
  end)
  if err then
    return nil, err, false
  end
  err = wait_for(function(callback)
    return socket:write(request, callback)
  end)
  if err then
    return nil, err, true
  end
  local bytes
  bytes, err = read_all(socket)
  return bytes, err, true
end

-- RFC 9112, section 7.1: chunks of a hexadecimal size and its bytes, until one of size 0.
---@return string? body
local function join_chunks(bytes)
  local chunks, at = {}, 1
  while true do
    local digits, first = bytes:match("^(%x+)[^\r\n]*\r?\n()", at)
    local size = digits and tonumber(digits, 16)
    if not size or first + size - 1 > #bytes then
      return nil
    elseif size == 0 then
      return table.concat(chunks)
    end
    chunks[#chunks + 1] = bytes:sub(first, first + size - 1)
    at = bytes:match("^\r?\n()", first + size)
    if not at then
      return nil
    end
  end
end

---@param bytes string
---@return fetch.Response? response, string? err
local function parse_response(bytes)
  local status, reason, fields = bytes:match("^HTTP/1%.%d (%d%d%d) ?([^\r\n]*)\r?\n()")
  if not status then
    return nil, bytes == "" and "the server closed without an answer" or "the answer is not HTTP/1"
  end
  local headers, at = {}, fields
  while true do
    local line, following = bytes:match("^([^\n]-)\r?\n()", at)
    if not line then
      return nil, "the answer ends within its headers"
    end
    at = following
    if line == "" then
      break
    end
    local name, value = line:match("^([^:%s]+):%s*(.-)%s*$")
    if name then
      headers[name:lower()] = value
    end
  end
  local body = bytes:sub(at)
  local length = tonumber(headers["content-length"])
  if (headers["transfer-encoding"] or ""):lower() == "chunked" then
    body = join_chunks(body)
  elseif length then
    body = #body >= length and body:sub(1, length) or nil
  end
  if not body then
    return nil, "the connection ended before the whole body had come"
  end
  return { status = math.tointeger(tonumber(status)), reason = reason, headers = headers, body = body }
end

local M = {}

---@param url string
---@return fetch.Response? response, string? err
function M.get(url)
  local parts, err = parse_url(url)
  if not parts then
    return nil, err
  end
  local addresses
  addresses, err = resolve(parts.host)
  if not addresses then
    return nil, err
  end
  local request = table.concat({
    "GET " .. parts.target .. " HTTP/1.1",
    "Host: " .. parts.authority,
    "User-Agent: panto-fetch-example",
    "Accept: */*",
    "Connection: close",
    "\r\n",
  }, "\r\n")
  local bytes, connected
  for _, address in ipairs(addresses) do
    bytes, err, connected = exchange(address.addr, parts.port, request)
    if connected then
      break
    end
  end
  if not bytes then
    return nil, err
  end
  return parse_response(bytes)
end

return M

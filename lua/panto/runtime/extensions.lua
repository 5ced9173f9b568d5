-- Sources, entries and what they register.
--
-- A source (file, folder, rock) is evaluated without side effects and returns entries; an entry is activated when the policy
-- permits its name. Ids are ours; the native side knows an extension by its id.

---@class panto.runtime.Source
---@field id integer
---@field dir string       its own folder, for require
---@field prefix string    how its chunk names begin, without "@"
---@field loaded table<string, any>

---@class panto.runtime.Entry
---@field id integer
---@field name string
---@field source panto.runtime.Source
---@field activate fun(ext: table, state: any)
---@field handle table?                    the panto.Ext, once activated
---@field registered (fun())[]            what takes its registrations back

local TOOL_NAME = "^[%w_-]+$"
local MAX_TOOL_NAME = 64

---@return { control: table<string, fun(arguments: table): any>, current_source: fun(), current_handle: fun(), current_name: fun() }
return function(core, streams)
  local last_id = 0
  ---@type table<integer, panto.runtime.Source>
  local sources = {}
  ---@type table<integer, panto.runtime.Entry>
  local entries = {}
  ---@type table<string, { handler: fun(args: string): string?, owner: integer }>
  local commands = {}

  local function new_id()
    last_id = last_id + 1
    return last_id
  end

  local function current_source()
    local owner = core.owner()
    return sources[owner] or entries[owner] and entries[owner].source
  end

  local function current_name()
    local owner = core.owner()
    return entries[owner] and entries[owner].name or sources[owner] and sources[owner].prefix or ""
  end
  streams.who = current_name

  local function current_handle()
    local owner = core.owner()
    local entry = entries[owner]
    if entry and entry.handle then
      return entry.handle
    elseif sources[owner] then
      error(
        "registering while a source is evaluated is refused: return an entry and register in its activate(ext)",
        3
      )
    end
    error("panto.ext: no extension is running here", 3)
  end

  ---------------------------------------------------------------------------------------------------- registration

  local function check_field(tool, field, expected, what)
    if type(tool[field]) ~= expected then
      error(("%s: %s must be a %s, not %s"):format(what, field, expected, type(tool[field])), 4)
    end
  end

  local function check_tool(tool)
    if type(tool) ~= "table" then
      error("register_tool expects a table, not " .. type(tool), 3)
    end
    check_field(tool, "name", "string", "a tool")
    local what = "tool " .. tool.name
    if not tool.name:match(TOOL_NAME) or #tool.name > MAX_TOOL_NAME then
      error(what .. ": the name must be 1 to 64 of A-Z a-z 0-9 _ -", 3)
    end
    check_field(tool, "description", "string", what)
    check_field(tool, "schema", "table", what)
    check_field(tool, "handler", "function", what)
    if tool.timeout ~= nil then
      check_field(tool, "timeout", "number", what)
    end
    local taken = core.tools[tool.name]
    if taken then
      error(("%s is already registered by %s"):format(what, entries[taken.owner].name), 3)
    end
  end

  -- Remembers how to take a registration back; returns the function for the author.
  local function keep(entry, undo)
    local done = false
    local function off()
      if not done then
        done = true
        undo()
      end
    end
    table.insert(entry.registered, off)
    return off
  end

  local function register_tool(entry, tool)
    check_tool(tool)
    core.post("register_tool", {
      entry = entry.id,
      extension = entry.name,
      name = tool.name,
      description = tool.description,
      schema = tool.schema,
      timeout = tool.timeout,
      guidelines = tool.guidelines,
      read_only = tool.read_only,
      label = tool.label,
      prepares = tool.prepare ~= nil,
    })
    core.tools[tool.name] = { handler = tool.handler, owner = entry.id, prepare = tool.prepare }
    return keep(entry, function()
      core.tools[tool.name] = nil
      core.post("unregister_tool", { name = tool.name })
    end)
  end

  local function register_command(entry, command)
    if type(command) ~= "table" then
      error("register_command expects a table, not " .. type(command), 3)
    end
    check_field(command, "name", "string", "a command")
    local what = "command /" .. command.name
    if not command.name:match(TOOL_NAME) then
      error(what .. ": the name must consist of A-Z a-z 0-9 _ -", 3)
    end
    check_field(command, "description", "string", what)
    check_field(command, "handler", "function", what)
    local taken = commands[command.name]
    if taken then
      error(("%s is already registered by %s"):format(what, entries[taken.owner].name), 3)
    end
    commands[command.name] = { handler = command.handler, owner = entry.id }
    core.post(
      "register_command",
      { extension = entry.name, name = command.name, description = command.description }
    )
    return keep(entry, function()
      commands[command.name] = nil
      core.post("unregister_command", { name = command.name })
    end)
  end

  local function make_log(entry)
    local log = {}
    for _, level in ipairs { "debug", "info", "warn", "error" } do
      log[level] = function(...)
        local parts = table.pack(...)
        for i = 1, parts.n do
          parts[i] = tostring(parts[i])
        end
        streams.log(level, entry.name, table.concat(parts, " "))
      end
    end
    return log
  end

  local function make_handle(entry, settings)
    return {
      name = entry.name,
      dir = entry.source.dir,
      settings = settings or {},
      log = make_log(entry),
      spawn = function(fn, ...)
        return panto.async.spawn_for_extension(fn, ...)
      end,
      register_tool = function(tool)
        return register_tool(entry, tool)
      end,
      register_command = function(command)
        return register_command(entry, command)
      end,
    }
  end

  ------------------------------------------------------------------------------------------------------- evaluation

  local function is_entry_name(name)
    if type(name) ~= "string" then
      return false
    end
    for segment in (name .. "."):gmatch("([^.]*)%.") do
      if not segment:match(TOOL_NAME) then
        return false
      end
    end
    return true
  end

  -- A bare tool is an entry of the tool's name that registers it.
  local function normalize(value, where)
    if type(value) ~= "table" then
      error(
        where
          .. " is "
          .. (value and "a " .. type(value) or "nothing")
          .. "; expected an entry { name, activate } or a tool",
        0
      )
    end
    local activate = value.activate
    if activate == nil and type(value.handler) == "function" then
      activate = function(ext)
        ext.register_tool(value)
      end
    end
    if not is_entry_name(value.name) then
      error(where .. " has no valid name (dotted, of A-Z a-z 0-9 _ -)", 0)
    end
    if type(activate) ~= "function" then
      error("entry " .. value.name .. " has neither activate nor handler", 0)
    end
    return { name = value.name, description = value.description, activate = activate }
  end

  local function to_list(value)
    if value == nil then
      return { false }, false
    end
    local is_list = type(value) == "table" and value.name == nil and value.activate == nil and value[1] ~= nil
    return is_list and value or { value }, is_list
  end

  -- As luaL_loadfile does: a mark of UTF-8 and a first line for the shell are skipped.
  local function skip_comment(text)
    text = text:gsub("^\xEF\xBB\xBF", "")
    return text:sub(1, 1) == "#" and "--" .. text or text
  end

  local function load_source(source, path, display)
    local file, err = io.open(path, "rb")
    if not file then
      error(err, 0)
    end
    local text = file:read("a")
    file:close()
    if not text then
      error(path .. ": cannot be read", 0)
    end
    local chunk, syntax_error = load(skip_comment(text), "@" .. display, "t")
    if not chunk then
      error(syntax_error, 0)
    end
    sources[source.id] = source
    core.define_extension(source.id, "", "@" .. source.prefix)
    core.set_owner(source.id)
    return chunk()
  end

  local function evaluate(arguments)
    local prefix = arguments.display:gsub("/init%.lua$", ""):gsub("%.lua$", "")
    local source = { id = new_id(), dir = arguments.dir, prefix = prefix, loaded = {} }
    local value = load_source(source, arguments.path, arguments.display)
    local list, is_list = to_list(value)
    local found = panto.json.array {}
    for i, item in ipairs(list) do
      local where = is_list and arguments.display .. ": item " .. i
        or arguments.display .. ": what it returned"
      local entry = normalize(item, where)
      entry.id, entry.source, entry.registered = new_id(), source, {}
      found[i] = { id = entry.id, name = entry.name, description = entry.description }
      entries[entry.id] = entry
      core.define_extension(entry.id, entry.name, "@" .. prefix)
    end
    return found
  end

  local function take_back(entry)
    for i = #entry.registered, 1, -1 do
      entry.registered[i]()
    end
    entry.registered = {}
  end

  local function activate(arguments)
    local entry = assert(entries[arguments.entry], "no such entry")
    core.set_owner(entry.id)
    entry.handle = make_handle(entry, arguments.settings)
    local complete = false
    local _ <close> = setmetatable({}, {
      __close = function()
        if not complete then
          take_back(entry)
          entry.handle = nil
        end
      end,
    })
    entry.activate(entry.handle)
    complete = true
  end

  local function drop(arguments)
    local entry = entries[arguments.entry]
    if entry then
      take_back(entry)
      entries[entry.id] = nil
      core.forget_extension(entry.id)
    end
  end

  local function run_command(arguments)
    local command = commands[arguments.name]
    if not command then
      error("no command is named /" .. arguments.name, 0)
    end
    core.set_owner(command.owner)
    local text = command.handler(arguments.args)
    return text ~= nil and { text = tostring(text) } or {}
  end

  -- Argument repair: { { tool, input } … } of JSON texts to a list of JSON texts.
  local function prepare(arguments)
    local out = panto.json.array {}
    for i, call in ipairs(arguments) do
      local tool = core.tools[call.tool]
      out[i] = call.input
      if tool and tool.prepare then
        core.set_owner(tool.owner)
        local input = panto.json.decode(call.input)
        if input == nil then
          input = call.input
        end
        out[i] = assert(panto.json.encode(tool.prepare(input)))
      end
    end
    return out
  end

  return {
    control = {
      evaluate = evaluate,
      activate = activate,
      drop = drop,
      command = run_command,
      prepare = prepare,
    },
    current_source = current_source,
    current_handle = current_handle,
    current_name = current_name,
  }
end

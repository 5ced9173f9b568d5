// What Lua may hold when the process ends: bodies of a handler (parameters: input, call) that say "holding" in an update.
export interface Hold {
  /** What runs in the handler. */
  readonly body: string;
  /** The handler does not return by itself: the call is open when the end comes. */
  readonly open?: true;
  /** How many calls of the tool one turn makes; default 1. */
  readonly calls?: number;
  /** It leaves a process that asked to outlive panto. */
  readonly survivor?: true;
  /** Lua cannot be interrupted here: the Lua thread is left behind. */
  readonly stuck?: true;
}

const report = 'call:update("holding")';

export const holds: Readonly<Record<string, Hold>> = {
  nothing: { body: report },
  timers: {
    body: `kept = {}
      for i = 1, 100 do kept[i] = uv.new_timer(); kept[i]:start(1, 1, function() end) end ${report}`,
  },
  child: { body: `assert(uv.spawn("sleep", { args = { "300" } }, function() end)) ${report}` },
  grandchildren: {
    body: `assert(uv.spawn("sh", { args = { "-c", "sleep 300 & sleep 300 & wait" } }, function() end))
      panto.async.sleep(0.2) ${report}`,
  },
  'grandchild whose parent has ended': {
    body: `panto.async.await(function(resume) uv.spawn("sh", { args = { "-c", "sleep 300 &" } }, resume) end) ${report}`,
  },
  'background job of os.execute': { body: `os.execute("sleep 300 &") ${report}` },
  'detached child': {
    body: `assert(uv.spawn("sleep", { args = { "300" }, detached = true }, function() end)) ${report}`,
    survivor: true,
  },
  sockets: {
    body: `server = uv.new_tcp(); server:bind("127.0.0.1", 0)
      server:listen(8, function() peer = uv.new_tcp(); server:accept(peer); peer:read_start(function() end) end)
      socket = uv.new_tcp()
      panto.async.await(function(resume) socket:connect("127.0.0.1", server:getsockname().port, resume) end)
      socket:read_start(function() end) ${report}`,
  },
  'pipes of a child': {
    body: `input, output = uv.new_pipe(), uv.new_pipe()
      assert(uv.spawn("cat", { stdio = { input, output, 2 } }, function() end))
      output:read_start(function() end); input:write(("x"):rep(1000)) ${report}`,
  },
  'busy handler': { body: `${report} while true do end`, open: true },
  'busy handler in pcall': {
    body: `${report} while true do pcall(function() while true do end end) end`,
    open: true,
  },
  'busy callback': { body: `uv.new_timer():start(0, 0, function() while true do end end) ${report}` },
  'os.execute': { body: `${report} os.execute("sleep 300; true")`, open: true, stuck: true },
  'io.popen': { body: `${report} io.popen("sleep 300; true"):read("a")`, open: true, stuck: true },
  'blocked pool': {
    body: `os.execute("mkfifo fifo")
      panto.async.await(function(resume) uv.fs_open("fifo", "r", 438, resume) ${report} end)`,
    open: true,
    stuck: true,
  },
  'blocked in C': { body: `os.execute("mkfifo fifo") ${report} io.open("fifo")`, open: true, stuck: true },
  requests: {
    body: `for _ = 1, 200 do
        local pipe = uv.new_pipe()
        uv.fs_opendir(".", function() pipe:close() end)
        uv.getaddrinfo("localhost", nil, {}, function() pipe:close() end)
      end ${report}`,
  },
  work: {
    body: `uv.new_work(function() while true do end end, function() end):queue() panto.async.sleep(0.1) ${report}`,
    stuck: true,
  },
  thread: { body: `thread = uv.new_thread(function() while true do end end) panto.async.sleep(0.1) ${report}` },
  'endless finalizer': {
    body: `kept = setmetatable({}, { __gc = function() while true do end end }) ${report}`,
    stuck: true,
  },
  'failing finalizers': {
    body: `kept = {} for i = 1, 100 do kept[i] = setmetatable({}, { __gc = function()
      if i % 3 == 0 then error({}) elseif i % 3 == 1 then uv.new_timer():start(1, 1, error) else uv.spawn("sleep", { args = { "300" } }) end
      end }) end ${report}`,
  },
  'suspended tasks': {
    body: `local timer <close> = setmetatable({}, { __close = function() closed = (closed or 0) + 1 end })
      ${report} panto.async.await(function() end)`,
    open: true,
    calls: 300,
  },
  'raw yields': { body: `${report} coroutine.yield()`, open: true, calls: 50 },
  'task that ignores its cancel': {
    body: `${report} while true do pcall(panto.async.sleep, 0.01) end`,
    open: true,
  },
};

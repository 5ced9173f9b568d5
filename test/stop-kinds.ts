// Runaway handlers: bodies of Lua handlers that never end by themselves, for test/lua-stop.test.ts and scripts/stop-matrix.
//
// A body sees `uv`, `g(work?)`, which makes a value for `local x <close>` that is counted (and calls work(err) when it is closed),
// and `began()`, called where the running away begins; it waits for a moment, so that the handler holds the thread from then on.

/** What ends it: the one CANCEL, the hard stop after the grace, or the end of the closers' time. */
export type StoppedBy = 'cancel' | 'close' | 'cut';

export interface RunawayKind {
  readonly name: string;
  readonly by: StoppedBy;
  readonly body: string;
  /** It is a child that runs away, and its parent that fails. */
  readonly inChild?: boolean;
}

const loop = 'while true do end';
const pcallLoop = `while true do pcall(function() ${loop} end) end`;

function withMetamethod(name: string, use: string): string {
  return `local _ <close> = g()
    local t = setmetatable({}, { ${name} = function() ${loop} end })
    local u = setmetatable({}, getmetatable(t))
    began()
    while true do pcall(function() ${use} end) end`;
}

export const runawayKinds: readonly RunawayKind[] = [
  // ---- plain code
  { name: 'a loop', by: 'cancel', body: `local _ <close> = g() began() ${loop}` },
  { name: 'a goto loop', by: 'cancel', body: `local _ <close> = g() began() ::again:: goto again` },
  {
    name: 'endless tail calls',
    by: 'cancel',
    body: `local _ <close> = g() local function f(n) return f(n + 1) end began() f(0) return "no"`,
  },
  {
    name: 'a numeric loop without a body',
    by: 'cancel',
    body: `local _ <close> = g() began() for i = 1, math.maxinteger do end`,
  },
  {
    name: 'an iterator without end',
    by: 'cancel',
    body: `local _ <close> = g() began() for _ in function() return 1 end do end`,
  },
  // ---- under pcall and xpcall
  { name: 'a loop under pcall in a loop', by: 'close', body: `local _ <close> = g() began() ${pcallLoop}` },
  {
    name: 'a loop under xpcall whose handler loops',
    by: 'cancel',
    body: `local _ <close> = g() began() xpcall(function() ${loop} end, function() ${loop} end) return "swallowed"`,
  },
  {
    name: 'xpcall in a loop, the handler loops',
    by: 'close',
    body: `local _ <close> = g() began() while true do xpcall(error, function() ${loop} end) end`,
  },
  {
    name: 'xpcall in a loop, the handler fails',
    by: 'close',
    body: `local _ <close> = g() local function h() error "x" end began()
      while true do pcall(function() while true do xpcall(error, h) end end) end`,
  },
  {
    name: 'pcall that calls itself',
    by: 'close',
    body: `local _ <close> = g() local function f() return pcall(f) end began() while true do f() end`,
  },
  {
    name: 'stack overflows under pcall',
    by: 'close',
    body: `local _ <close> = g() local function f() return 1 + f() end began() while true do pcall(f) end`,
  },
  {
    name: 'it catches CANCEL and awaits on',
    by: 'close',
    body: `local _ <close> = g() began()
      while true do pcall(function() ${loop} end) pcall(panto.async.sleep, 0.001) end`,
  },
  // ---- coroutines
  {
    name: 'five wraps deep',
    by: 'cancel',
    body: `local function nest(n)
        local _ <close> = g()
        if n == 0 then began() ${loop} end
        return coroutine.wrap(function() local _ <close> = g() nest(n - 1) end)()
      end
      nest(5)`,
  },
  {
    name: 'four coroutines deep, each resumed in a loop',
    by: 'close',
    body: `local function nest(n)
        local _ <close> = g()
        if n == 0 then began() ${pcallLoop} end
        local co = coroutine.create(function() local _ <close> = g() nest(n - 1) end)
        while true do coroutine.resume(co) end
      end
      nest(4)`,
  },
  {
    name: 'coroutines made and resumed in a loop',
    by: 'close',
    body: `local _ <close> = g() began() while true do coroutine.resume(coroutine.create(function() ${loop} end)) end`,
  },
  {
    name: 'wraps under pcall in a loop',
    by: 'close',
    body: `local _ <close> = g() began() while true do pcall(coroutine.wrap(function() ${pcallLoop} end)) end`,
  },
  {
    name: 'a generator without end',
    by: 'cancel',
    body: `local _ <close> = g() began()
      for _ in coroutine.wrap(function() while true do coroutine.yield(1) end end) do end`,
  },
  {
    name: 'generators that feed one another',
    by: 'cancel',
    body: `local _ <close> = g()
      local function stage(source)
        return coroutine.wrap(function() while true do coroutine.yield((source() or 0) + 1) end end)
      end
      local last = function() return 0 end
      for _ = 1, 10 do last = stage(last) end
      began()
      while true do last() end`,
  },
  {
    name: 'coroutine.close of one whose closer loops',
    by: 'cut',
    body: `do local _ <close> = g() end
      began()
      while true do
        local co = coroutine.create(function()
          local _ <close> = setmetatable({}, { __close = function() ${loop} end })
          coroutine.yield()
        end)
        coroutine.resume(co)
        pcall(coroutine.close, co)
      end`,
  },
  {
    name: 'a wrap that fails while its closer loops',
    by: 'cut',
    body: `do local _ <close> = g() end
      began()
      while true do
        pcall(coroutine.wrap(function()
          local _ <close> = setmetatable({}, { __close = function() ${loop} end })
          error "x"
        end))
      end`,
  },
  // ---- closers and defers
  {
    name: 'a closer that loops',
    by: 'cut',
    body: `local _ <close> = setmetatable({}, { __close = function() began() ${loop} end })
      local _ <close> = g()`,
  },
  {
    name: 'a closer that loops under pcall',
    by: 'cut',
    body: `local _ <close> = setmetatable({}, { __close = function() began() ${pcallLoop} end })
      local _ <close> = g()`,
  },
  {
    name: 'a closer that loops when the cancel comes',
    by: 'cut',
    body: `local _ <close> = setmetatable({}, { __close = function() ${loop} end })
      local _ <close> = g() began() ${loop}`,
  },
  {
    name: 'a closer that computes and returns while the task loops',
    by: 'cancel',
    body: `local _ <close> = g(function() for i = 1, 1e6 do end end) began() ${loop}`,
  },
  {
    name: 'closers that wait',
    by: 'cancel',
    body: `local _ <close> = g(function() panto.async.sleep(0.005) end)
      coroutine.wrap(function()
        local _ <close> = g(function() panto.async.sleep(0.005) end)
        began() ${loop}
      end)()`,
  },
  {
    name: 'a defer that loops',
    by: 'cut',
    body: `panto.async.defer(function() ${loop} end) local _ <close> = g() began() ${loop}`,
  },
  // ---- metamethods
  { name: '__index', by: 'close', body: withMetamethod('__index', 'return t.x') },
  { name: '__newindex', by: 'close', body: withMetamethod('__newindex', 't.x = 1') },
  { name: '__lt', by: 'close', body: withMetamethod('__lt', 'return t < u') },
  { name: '__concat', by: 'close', body: withMetamethod('__concat', 'return t .. u') },
  { name: '__eq', by: 'close', body: withMetamethod('__eq', 'return t == u') },
  { name: '__call', by: 'close', body: withMetamethod('__call', 't()') },
  { name: '__len', by: 'close', body: withMetamethod('__len', 'return #t') },
  { name: '__tostring in string.format', by: 'close', body: withMetamethod('__tostring', 'return ("%s"):format(t)') },
  {
    name: '__tostring of an error object',
    by: 'cancel',
    body: `local _ <close> = g() began() error(setmetatable({}, { __tostring = function() ${loop} end }))`,
  },
  // ---- callbacks of Lua's C functions
  {
    name: 'a sort comparator',
    by: 'close',
    body: `local _ <close> = g() began()
      while true do pcall(table.sort, { 3, 2, 1 }, function() ${pcallLoop} end) end`,
  },
  {
    name: 'a wrap in a sort comparator',
    by: 'cancel',
    body: `local _ <close> = g() began()
      table.sort({ 3, 2, 1 }, function() return coroutine.wrap(function() local _ <close> = g() ${loop} end)() end)`,
  },
  {
    name: 'a gsub callback',
    by: 'close',
    body: `local _ <close> = g() began() while true do pcall(string.gsub, "abc", ".", function() ${loop} end) end`,
  },
  {
    name: 'a reader of load without end',
    by: 'cancel',
    body: `local _ <close> = g() began() load(function() return " " end) return "no"`,
  },
  {
    name: 'a reader of load that loops',
    by: 'close',
    body: `local _ <close> = g() began() while true do load(function() ${loop} end) end`,
  },
  {
    name: 'require of a module that loops',
    by: 'close',
    body: `local _ <close> = g()
      package.preload.runaway = function() ${loop} end
      began()
      while true do pcall(require, "runaway") end`,
  },
  // ---- one long call of C
  {
    name: 'a pattern that never matches',
    by: 'cancel',
    body: `local _ <close> = g() local text = ("a"):rep(2e5) began() text:find(".-.-.-.-b")`,
  },
  {
    name: 'such patterns under pcall',
    by: 'close',
    body: `local _ <close> = g() local text = ("a"):rep(2e5) began() while true do pcall(string.find, text, ".-.-.-.-b") end`,
  },
  {
    name: 'a plain find of a huge text',
    by: 'cancel',
    body: `local _ <close> = g()
      local text, part = ("a"):rep(4e6), ("a"):rep(2e6) .. "b"
      began()
      while true do text:find(part, 1, true) end`,
  },
  {
    name: 'gsub with a C function over a huge text',
    by: 'cancel',
    body: `local _ <close> = g() local text = ("x"):rep(1 << 23) began() while true do text:gsub(".", string.len) end`,
  },
  {
    name: 'load of a huge text',
    by: 'cancel',
    body: `local _ <close> = g() local text = ("x=1 "):rep(1e6) began() while true do load(text) end`,
  },
  {
    name: 'load from a reader in C',
    by: 'cancel',
    body: `local _ <close> = g() local text = (" "):rep(1 << 23) began() while true do load(text:gmatch(" ")) end`,
  },
  { name: 'string.rep of nothing', by: 'cancel', body: `local _ <close> = g() began() return (""):rep(1e18)` },
  {
    name: 'string.rep of much',
    by: 'cancel',
    body: `local _ <close> = g() began() while true do local _ = ("x"):rep(1 << 25) end`,
  },
  {
    name: 'string.format of much',
    by: 'cancel',
    body: `local _ <close> = g() local text = ("\\n"):rep(1 << 20) began() while true do local _ = ("%q"):format(text) end`,
  },
  {
    name: 'table.concat over __index',
    by: 'cancel',
    body: `local _ <close> = g()
      local t = setmetatable({}, { __index = function() return "" end })
      began()
      return table.concat(t, "", 1, 1e18)`,
  },
  {
    name: 'table.concat of much',
    by: 'cancel',
    body: `local _ <close> = g()
      local t = {}
      for i = 1, 2e5 do t[i] = "abcdefgh" end
      began()
      while true do table.concat(t) end`,
  },
  { name: 'table.move', by: 'cancel', body: `local _ <close> = g() began() table.move({}, 1, 1e15, 1, {})` },
  {
    name: 'table.insert at the front',
    by: 'cancel',
    body: `local _ <close> = g()
      local t = table.move({ 1 }, 1, 1, 3e5, {})
      for i = 1, 3e5 do t[i] = i end
      began()
      while true do table.insert(t, 1, 1) table.remove(t, 1) end`,
  },
  {
    name: 'table.sort of much, compared in C',
    by: 'cancel',
    body: `local _ <close> = g()
      local t = {}
      for i = 1, 2e5 do t[i] = (i * 7919) % 1000037 end
      began()
      while true do table.sort(t, math.ult) table.sort(t) end`,
  },
  // ---- games
  {
    name: 'code that is dumped, stripped and loaded again',
    by: 'close',
    body: `local _ <close> = g()
      local code = string.dump(function() ${pcallLoop} end, true)
      began()
      while true do pcall(load(code, "=(stripped)", "b")) end`,
  },
  {
    name: 'hooks set and asked for in a loop',
    by: 'close',
    body: `local _ <close> = g() began()
      while true do pcall(debug.sethook) pcall(function() while true do debug.gethook() end end) end`,
  },
  {
    name: 'garbage without end',
    by: 'cancel',
    body: `local _ <close> = g() began()
      while true do local t = {} for i = 1, 100 do t[i] = { i } end end`,
  },
  {
    name: 'a child that loops while its parent awaits it',
    by: 'close',
    inChild: true,
    body: `local _ <close> = g()
      panto.async.spawn(function() local _ <close> = g() began() ${pcallLoop} end):await()`,
  },
  {
    name: 'a parent that loops while its children wait',
    by: 'close',
    body: `local _ <close> = g()
      for _ = 1, 2 do panto.async.spawn(function() local _ <close> = g() panto.async.sleep(60) end) end
      panto.async.sleep(0)
      began()
      ${pcallLoop}`,
  },
];

// docs/concurrency.md, I1 to I3: code that does not end by itself is stopped, whatever it does in Lua, and nobody else is hit.
//
// Each kind runs beside four calls that must come to no harm, once until the hold limit and once until a cancel.
#include "check.h"
#include "host.h"

namespace panto::test {
namespace {

struct Runaway {
  const char* name;
  const char* body;
  int cut = 0;  // closers behind one that does not end: they are ended when they start
};

const Runaway kRunaways[] = {
    // Loops and protected calls.
    {"a plain loop", "while true do end"},
    {"a loop that ends in its own iterator", "for _ in function() return 1 end do end"},
    {"a loop under pcall in a loop", "while true do pcall(function() while true do end end) end"},
    {"xpcall with a handler that loops",
     "xpcall(function() while true do end end, function() while true do end end)"},
    {"errors whose handler loops", "while true do xpcall(error, function() while true do end end) end"},
    {"errors whose handler fails", "local function h() error 'x' end while true do xpcall(error, h) end"},
    {"pcall that calls itself", "local function f() return pcall(f) end while true do f() end"},
    {"stack overflows in a loop", "local function f() return 1 + f() end while true do pcall(f) end"},
    {"a loop that swallows CANCEL and awaits on",
     "while true do pcall(function() while true do end end) pcall(sleep, 0.001) end"},
    // Coroutines.
    {"five nested wraps with closers", "local c <close> = closer 'root' nest(5, function() while true do end end)"},
    {"nested create and resume with closers",
     "local function down(n) local c <close> = closer('L' .. n) if n == 0 then while true do end end\n"
     "  local co = coroutine.create(function() local d <close> = closer('C' .. n) down(n - 1) end)\n"
     "  while true do coroutine.resume(co) end end\n"
     "down(3)"},
    {"create and resume in a loop",
     "while true do coroutine.resume(coroutine.create(function() while true do end end)) end"},
    {"a wrap under pcall in a loop",
     "while true do pcall(coroutine.wrap(function() while true do pcall(function() while true do end end) end end)) end"},
    // Cleaning up that does not end.
    {"a __close that loops", "local c <close> = closer('c', function() while true do end end)"},
    {"a __close that loops under pcall",
     "local c <close> = closer('c', function() while true do pcall(function() while true do end end) end end)"},
    {"a __close that loops between others",
     "local a <close> = closer 'a' local b <close> = closer('b', function() while true do end end)\n"
     "local d <close> = closer 'd' while true do end",
     1},
    {"coroutine.close of a __close that loops",
     "local co = coroutine.create(function() local c <close> = closer('c', function() while true do end end) coroutine.yield() end)\n"
     "coroutine.resume(co) while true do pcall(coroutine.close, co) end"},
    {"a wrap that fails with a __close that loops",
     "while true do pcall(coroutine.wrap(function() local c <close> = closer('c', function() while true do end end) error 'x' end)) end"},
    {"a defer that loops", "defer(function() while true do end end)"},
    // Metamethods.
    {"an __index that loops",
     "local t = setmetatable({}, { __index = function() while true do end end }) while true do pcall(function() return t.x end) end"},
    {"an __lt that loops",
     "local t = setmetatable({}, { __lt = function() while true do end end }) while true do pcall(function() return t < t end) end"},
    {"a __concat that loops",
     "local t = setmetatable({}, { __concat = function() while true do end end }) while true do pcall(function() return t .. t end) end"},
    {"an __eq that loops",
     "local m = { __eq = function() while true do end end } local t, u = setmetatable({}, m), setmetatable({}, m)\n"
     "while true do pcall(function() return t == u end) end"},
    {"a __call that loops", "local t = setmetatable({}, { __call = function() while true do end end }) while true do pcall(t) end"},
    {"a __tostring that loops", "string.format('%s', setmetatable({}, { __tostring = function() while true do end end }))"},
    {"an error whose __tostring loops", "error(setmetatable({}, { __tostring = function() while true do end end }))"},
    // Lua functions that C functions call.
    {"a comparator that loops", "table.sort({ 3, 2, 1 }, function() while true do end end)"},
    {"a comparator that loops under pcall, with closers",
     "while true do pcall(table.sort, { 3, 2, 1 }, function() local c <close> = closer('c')\n"
     "  while true do pcall(function() local d <close> = closer('d') while true do end end) end end) end"},
    {"a wrap in a comparator",
     "table.sort({ 3, 2, 1 }, function() return coroutine.wrap(function() local c <close> = closer 'w' while true do end end)() end)"},
    {"a comparator in a wrap in a comparator",
     "table.sort({ 3, 2, 1 }, function() return coroutine.wrap(function() local c <close> = closer 'w'\n"
     "  table.sort({ 2, 1 }, function() local d <close> = closer 'x' while true do end end) end)() end)"},
    {"a gsub callback that loops", "while true do pcall(string.gsub, 'abc', '.', function() while true do end end) end"},
    {"a reader of load that loops", "while true do load(function() while true do end end) end"},
    {"a reader of load that never ends", "while true do load(function() return ' ' end) end"},
    {"require of a module that loops", "package.preload.runaway = function() while true do end end while true do pcall(require, 'runaway') end"},
    // One C function that takes for ever.
    {"find with a catastrophic pattern", "(('a'):rep(2e5)):find('.-.-.-.-b')"},
    {"find under pcall in a loop", "while true do pcall(string.find, ('a'):rep(2e5), '.-.-.-.-b') end"},
    {"plain find of a huge text", "while true do (('a'):rep(4e6)):find(('a'):rep(2e6) .. 'b', 1, true) end"},
    {"gsub with a C callback", "while true do (('x'):rep(1 << 22)):gsub('.', string.len) end"},
    {"rep of nothing", "(''):rep(1e18)"},
    {"huge reps", "while true do local s = ('x'):rep(1 << 26) end"},
    {"table.move of a huge range", "table.move({}, 1, 1e15, 1, {})"},
    {"table.concat of a huge range", "table.concat(setmetatable({}, { __index = function() return '' end }), '', 1, 1e18)"},
    {"table.concat in a loop", "local t = {} for i = 1, 2e5 do t[i] = 'abcdefgh' end while true do table.concat(t) end"},
    {"table.sort of a huge table",
     "local t = {} for i = 1, 5e5 do t[i] = (i * 7919) % 4000037 end\n"
     "while true do table.sort(t) for i = 1, #t, 3 do t[i] = (i * 7919) % 1000037 end end"},
    {"table.sort with a C comparator",
     "local t = {} for i = 1, 2e5 do t[i] = (i * 7919) % 4000037 end\n"
     "while true do table.sort(t, math.ult) for i = 1, #t, 3 do t[i] = (i * 7919) % 1000037 end end"},
    {"insert and remove at the front", "local t = {} for i = 1, 5e5 do t[i] = i end while true do table.insert(t, 1, 1) table.remove(t, 1) end"},
    {"load of a huge text", "local s = ('x=1 '):rep(5e6) while true do load(s) end"},
    {"load with a C reader", "while true do load((' '):rep(1 << 22):gmatch(' ')) end"},
    // Games with hooks, which are refused.
    {"debug.sethook in a loop", "while true do pcall(debug.sethook) end"},
    {"debug.gethook in a loop", "while true do debug.gethook() end"},
};

constexpr int kSiblings = 4;
constexpr uint64_t kHoldMs = 250;
constexpr uint64_t kGraceMs = 100;

// The victim and its siblings as one batch; the outcome of the victim.
Outcome run_beside_siblings(Host& host, bool cancels) {
  std::vector<Host::Call> calls{{"victim"}};
  for (int i = 0; i < kSiblings; i++) calls.push_back({"sibling"});
  std::vector<Token> tokens = host.start(calls);
  if (cancels) {
    // Later than the start, so that the victim runs.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    host.cancel(tokens[0]);
  }
  Outcome victim = host.wait(tokens[0]);
  for (int i = 1; i <= kSiblings; i++) {
    Outcome sibling = host.wait(tokens[static_cast<size_t>(i)]);
    CHECK_EQUAL(sibling.body, "72018");  // 12 * (6000 + 1) + 1 + 2 + 3
  }
  return victim;
}

void check_closers(Host& host, int cut) {
  std::string counts = host.text("closers");
  int opened = 0;
  int closed = 0;
  int twice = 0;
  CHECK(std::sscanf(counts.c_str(), "opened %d closed %d twice %d", &opened, &closed, &twice) == 3);
  CHECK_EQUAL(closed + cut, opened);
  CHECK_EQUAL(twice, 0);
}

void run(const Runaway& runaway, bool cancels) {
  Host host(Limits{cancels ? 100 * kHoldMs : kHoldMs, kGraceMs, 100});
  host.load_file("support.lua");
  host.tools("test.victim", {{"victim", runaway.body}});
  Outcome victim = run_beside_siblings(host, cancels);
  CHECK_EQUAL(victim.error("kind"), std::string(cancels ? "cancelled" : "timeout"));
  check_closers(host, runaway.cut);
  CHECK_EQUAL(host.problems().size(), 0U);
}

struct RegisterAll {
  RegisterAll() {
    for (const Runaway& runaway : kRunaways) {
      tests().push_back({std::string("runaway: ") + runaway.name + " is stopped at the hold limit",
                         [&runaway] { run(runaway, false); }});
      tests().push_back(
          {std::string("runaway: ") + runaway.name + " is stopped by a cancel", [&runaway] { run(runaway, true); }});
    }
  }
};
const RegisterAll register_all;

}  // namespace
}  // namespace panto::test

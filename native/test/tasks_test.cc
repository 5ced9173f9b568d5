// docs/concurrency.md, Tasks, Awaiting, Children: through the runtime's C++ interface. The tests in Node have the details; these
// are what the sanitizers look at.
#include <numeric>

#include "check.h"
#include "host.h"

namespace panto::test {
namespace {

TEST("tasks: the calls of a batch start in call order, and settle as they end") {  // K1, K6
  Host host;
  host.load_file("support.lua");
  host.tools("test.batch", {{"nap", "log('start ' .. input.i) sleep(input.s) log('end ' .. input.i) return input.i"}});
  std::vector<Token> tokens = host.start(
      {{"nap", R"({"i":"a","s":0.2})"}, {"nap", R"({"i":"b","s":0.1})"}, {"nap", R"({"i":"c","s":0})"}});
  for (Token token : tokens) CHECK(host.wait(token).ok());
  CHECK_EQUAL(host.text("log"), "start a; start b; start c; end c; end b; end a");
}

TEST("tasks: a serial batch runs one call after the other, errors and bad input included") {  // K2, K5
  Host host;
  host.load_file("support.lua");
  host.tools("test.serial", {{"nap", "log('start ' .. input.i) sleep(0.01) log('end ' .. input.i)"},
                             {"fail", "log 'fail' error 'no'"}});
  std::vector<Token> tokens = host.start({{"nap", R"({"i":"a"})"},
                                          {"fail"},
                                          {"nap", "not JSON"},
                                          {"absent"},
                                          {"nap", R"({"i":"b"})"}},
                                         true);
  CHECK(host.wait(tokens[0]).ok());
  CHECK_EQUAL(host.wait(tokens[1]).error("message"), "no");
  CHECK_EQUAL(host.wait(tokens[2]).error("kind"), "invalid_input");
  CHECK_EQUAL(host.wait(tokens[3]).error("kind"), "unknown_tool");
  CHECK(host.wait(tokens[4]).ok());
  CHECK_EQUAL(host.text("log"), "start a; end a; fail; start b; end b");
  std::vector<Token> settled = host.settled();
  CHECK(std::vector<Token>(settled.end() - 6, settled.end() - 1) == tokens);
}

TEST("tasks: a call of a serial batch that is cancelled before its turn never runs") {  // C1
  Host host;
  host.load_file("support.lua");
  host.tools("test.serial", {{"nap", "log(input.i) sleep(0.1)"}});
  std::vector<Token> tokens = host.start({{"nap", R"({"i":"a"})"}, {"nap", R"({"i":"b"})"}, {"nap", R"({"i":"c"})"}}, true);
  host.cancel(tokens[1]);
  CHECK(host.wait(tokens[0]).ok());
  CHECK_EQUAL(host.wait(tokens[1]).error("kind"), "cancelled");
  CHECK(host.wait(tokens[2]).ok());
  CHECK_EQUAL(host.text("log"), "a; c");
}

TEST("tasks: four thousand calls of one batch all settle, whatever each of them does") {  // K4, K5, K7
  Host host;
  host.load_file("support.lua");
  host.tools("test.many", {{"one", R"(
    if input.i % 7 == 0 then error("fails") end
    if input.i % 5 == 0 then sleep(0.001) end
    if input.i % 3 == 0 then spawn(function() sleep(0.001) end) end
    if input.i % 11 == 0 then return { content = "x" } end
    return tostring(input.i))"}});
  std::vector<Host::Call> calls;
  for (int i = 0; i < 4096; i++) calls.push_back({"one", R"({"i":)" + std::to_string(i) + "}"});
  std::vector<Token> tokens = host.start(calls);
  for (size_t i = 0; i < tokens.size(); i++) {
    Outcome outcome = host.wait(tokens[i]);
    CHECK_EQUAL(outcome.ok(), i % 7 != 0);
    if (outcome.kind == EventKind::kSettledText) CHECK_EQUAL(outcome.body, std::to_string(i));
  }
}

TEST("tasks: partial results come in order, and before the end") {
  Host host;
  host.load_file("support.lua");
  host.tools("test.updates", {{"steps", "for i = 1, 5 do call:update('step ' .. i) sleep(0.05) end return 'done'"}});
  Token token = host.start("steps");
  CHECK(host.wait(token).ok());
  std::vector<std::string> updates = host.updates(token);
  CHECK(!updates.empty());
  CHECK(std::is_sorted(updates.begin(), updates.end()));
  CHECK_EQUAL(updates.back(), "\"step 5\"");
}

TEST("tasks: an await crosses generators, protected calls and metamethods") {  // A1, A2
  Host host;
  host.load_file("support.lua");
  host.tools("test.await", {{"generators", R"(
    local function gen(depth)
      return coroutine.wrap(function()
        for i = 1, 3 do
          sleep(0.001)
          if depth == 0 then coroutine.yield(i) else for v in gen(depth - 1) do coroutine.yield(v) end end
        end
      end)
    end
    local n = 0
    for _ in gen(3) do n = n + 1 end
    return tostring(n))"},
                            {"metamethods", R"(
    local function nap(value) return function() sleep(0.001) return value end end
    local m = { __index = nap "i", __lt = nap(true), __le = nap(true), __concat = nap "c", __eq = nap(true), __len = nap(7),
      __call = nap "call", __newindex = nap(), __add = nap(5), __unm = nap(6), __close = nap() }
    local function all()
      local t, u = setmetatable({}, m), setmetatable({}, m)
      local x <close> = t
      t.y = 1
      for _ in nap(nil) do end
      return tostring(t.z) .. tostring(t < u) .. tostring(t <= u) .. (t .. u) .. ("x" .. t) .. tostring(t == u) .. #t .. t(9) ..
        t + 1 .. -t
    end
    local in_wrap = coroutine.wrap(function() return select(2, assert(pcall(all))) end)
    local ok, direct = pcall(all)
    assert(ok, direct)
    assert(in_wrap() == direct)
    return direct)"}});
  CHECK_EQUAL(host.text("generators"), "81");
  CHECK_EQUAL(host.text("metamethods"), "itruetruecctrue7call56");
}

TEST("tasks: resume may come at once, once, late, and from a coroutine") {  // A1
  Host host;
  host.load_file("support.lua");
  host.tools("test.resume", {{"at_once", R"(
    local a, b = await(function(resume) assert(resume(1, 2) == true) assert(resume(3) == false) end)
    return a + b .. coroutine.wrap(function() return await(function(resume) resume "x" end) end)())"},
                             {"late", R"(
    local later
    local child = spawn(function() return await(function(resume) later = resume end) end)
    spawn(function() sleep(0.01) later("late") end)
    return child:await())"},
                             {"throws", R"(
    local ok, err = pcall(await, function() error("bad", 0) end)
    sleep(0.001)
    return err)"},
                             {"by_hand", R"(
    local co = coroutine.create(function() sleep(0.05) return "slept" end)
    spawn(function() assert(coroutine.resume(co)) end)
    sleep(0.01)
    local ok, err = coroutine.resume(co)
    assert(not ok)
    sleep(0.1)
    return err .. "; " .. coroutine.status(co))"}});
  CHECK_EQUAL(host.text("at_once"), "3x");
  CHECK_EQUAL(host.text("late"), "late");
  CHECK_EQUAL(host.text("throws"), "bad");
  CHECK_EQUAL(host.text("by_hand"), "cannot resume a coroutine that waits in await; dead");
}

TEST("tasks: an await where Lua cannot yield is an error, and the next call works") {  // A4
  Host host;
  host.load_file("support.lua");
  host.tools("test.places",
             {{"sort", "return (select(2, pcall(table.sort, { 3, 2, 1 }, function() sleep(0) end)))"},
              {"wrapped", "return (select(2, pcall(table.sort, { 3, 2, 1 }, coroutine.wrap(function() sleep(0) end))))"},
              {"close", R"(
    local co = coroutine.create(function() local c <close> = closer("g", function() sleep(0) end) coroutine.yield() end)
    coroutine.resume(co)
    return (select(2, coroutine.close(co))))"}});
  for (const char* place : {"sort", "wrapped", "close", "sort"}) {
    CHECK(host.text(place).find("cannot await here") != std::string::npos);
  }
}

TEST("tasks: children end before their parent, an error cancels those that are left") {  // N1 to N3
  Host host;
  host.load_file("support.lua");
  host.tools("test.children", {{"waits", "for i = 1, 3 do spawn(function() sleep(0.01 * i) log(i) end) end log 'body'"},
                               {"fails", R"(
    spawn(function() local c <close> = closer "child" sleep(1e6) end)
    sleep(0.001)
    error "parent")"},
                               {"hears", "local c = spawn(function() error({ code = 7 }) end) local ok, e = pcall(c.await, c) return tostring(e.code)"},
                               {"inherits", "spawn(function() sleep(0.001) error 'of the child' end) sleep(0.05) return 'lost'"}});
  host.call("waits");
  CHECK_EQUAL(host.text("log"), "body; 1; 2; 3");
  CHECK_EQUAL(host.call("fails").error("message"), "parent");
  CHECK_EQUAL(host.text("log"), "body; 1; 2; 3; child");
  CHECK_EQUAL(host.text("hears"), "7");
  CHECK_EQUAL(host.call("inherits").error("message"), "of the child");
}

TEST("tasks: one runtime after the other lives in a process, with calls open at the end") {  // S1
  for (int i = 0; i < 3; i++) {
    Host host;
    host.load_file("support.lua");
    host.tools("test.open", {{"forever", "local c <close> = closer 'open' defer(function() end) nest(3, function() sleep(1e6) end)"},
                             {"raw", "coroutine.yield()"}});
    host.start({{"forever"}, {"raw"}, {"forever"}});
    CHECK(host.call("log").ok());
  }
}

}  // namespace
}  // namespace panto::test

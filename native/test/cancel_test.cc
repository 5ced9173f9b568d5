// docs/concurrency.md, Cancelling, of tasks that wait; runaway_test.cc has those that run.
#include "check.h"
#include "host.h"

namespace panto::test {
namespace {

// Runs the body until it has logged "waits", cancels it, and returns the log from there on; the outcome must be "cancelled".
// `cut` closers are ended when they start.
std::string cancelled(const std::string& body, Limits limits = {}, int cut = 0) {
  Host host(limits);
  host.load_file("support.lua");
  host.tools("test.cancel", {{"body", body}});
  Token token = host.start("body");
  while (host.text("log").find("waits") == std::string::npos) {
  }
  host.cancel(token);
  Outcome outcome = host.wait(token);
  CHECK_EQUAL(outcome.error("kind"), "cancelled");
  // Whatever was left behind would be seen now.
  host.call("collect");
  CHECK_EQUAL(host.problems().size(), 0U);
  std::string closers = host.text("closers");
  CHECK(closers.find("twice 0") != std::string::npos);
  int opened = 0;
  int closed = 0;
  std::sscanf(closers.c_str(), "opened %d closed %d", &opened, &closed);
  CHECK_EQUAL(closed + cut, opened);
  std::string log = host.text("log");
  return log.substr(log.find("waits") + 5);
}

constexpr Limits kShort{5000, 100, 100};

TEST("cancel: CANCEL comes through pcall, closers and defers may wait, the next await throws again") {  // C1, C3
  CHECK_EQUAL(cancelled(R"(
    local a <close> = closer("a", function() sleep(0.005) end)
    local ok, err = pcall(function()
      local b <close> = closer("b", function(err) sleep(0.005) log(is_cancelled(err)) end)
      defer(function() sleep(0.003) log "deferred" end)
      log "waits"
      sleep(1e6)
    end)
    log("caught " .. tostring(is_cancelled(err)))
    sleep(0.001)
    log "never")"),
              "; true; b; caught true; a; deferred");
}

TEST("cancel: closers of five nested coroutines all wait, from the inside out") {  // C3
  CHECK_EQUAL(cancelled("nest(5, function() log 'waits' sleep(1e6) end, function() sleep(0.001) end)"),
              "; L0; C1; L1; C2; L2; C3; L3; C4; L4; C5; L5");
}

TEST("cancel: a resume hands CANCEL to the one who resumed") {
  CHECK_EQUAL(cancelled(R"(
    local co = coroutine.create(function() local c <close> = closer("c", function() sleep(0.001) end) log "waits" sleep(1e6) end)
    local ok, err = coroutine.resume(co)
    log(tostring(ok) .. " " .. tostring(is_cancelled(err)) .. " " .. coroutine.status(co)))"),
              "; c; false true dead");
}

TEST("cancel: a raw yield in the root is a cancel point") {  // C1
  CHECK_EQUAL(cancelled("local a <close> = closer('a', function() sleep(0.002) end) log 'waits' coroutine.yield() log 'never'"),
              "; a");
}

TEST("cancel: children are cancelled before their parent, and so on down") {  // C1
  CHECK_EQUAL(cancelled(R"(
    for i = 1, 2 do
      spawn(function()
        local c <close> = closer("child" .. i, function() sleep(0.003) end)
        spawn(function() local g <close> = closer("grandchild" .. i, function() sleep(0.003) end) sleep(1e6) end)
        sleep(1e6)
      end)
    end
    local p <close> = closer("parent", function() sleep(0.002) end)
    sleep(0.01)
    log "waits"
    sleep(1e6))"),
              "; grandchild1; grandchild2; child1; child2; parent");
}

TEST("cancel: what start returned undoes the await") {
  CHECK_EQUAL(cancelled("local a <close> = closer 'a' await(function() log 'waits' return function() log 'undone' end end)"),
              "; undone; a");
}

TEST("cancel: after the grace a task is closed, innermost coroutine first") {  // C3
  CHECK_EQUAL(cancelled(R"(
    local a <close> = closer "a"
    local co = coroutine.create(function()
      local b <close> = closer "b"
      pcall(function()
        local c <close> = closer("c", function() local d <close> = closer "d" while true do sleep(0.01) end end)
        log "waits"
        sleep(1e6)
      end)
    end)
    coroutine.resume(co))",
                        kShort),
              "; d; b; a");
}

TEST("cancel: after the grace children that do not end are closed before their parent") {  // C3
  CHECK_EQUAL(cancelled(R"(
    for i = 1, 2 do
      spawn(function()
        local c <close> = closer("child" .. i)
        pcall(function() local x <close> = closer("stuck", function() log("stuck" .. i) sleep(1e6) end) sleep(1e6) end)
      end)
    end
    local p <close> = closer "parent"
    sleep(0.01)
    log "waits"
    sleep(1e6))",
                        kShort),
              "; stuck1; stuck2; child1; child2; parent");
}

TEST("cancel: a closer that computes without end is cut, and those outside it end as they start") {  // C3
  CHECK_EQUAL(cancelled(R"(
    local a <close> = closer "a"
    pcall(function()
      local b <close> = closer("b", function() while true do end end)
      local c <close> = closer "c"
      log "waits"
      sleep(1e6)
    end))",
                        kShort, 1),
              "; c");
}

TEST("cancel: defers run after a hard stop, too") {  // N5
  CHECK_EQUAL(cancelled("defer(function() log 'deferred' end) log 'waits' while true do pcall(sleep, 0.001) end", kShort), "; deferred");
}

TEST("cancel: a task that swallows CANCEL and returns is cancelled all the same") {  // C4
  CHECK_EQUAL(cancelled("log 'waits' pcall(sleep, 1e6) return 'as if nothing had been'"), "");
}

TEST("cancel: a generator in a plain yield is not closed with its task") {  // C6
  Host host;
  host.load_file("support.lua");
  host.tools("test.generator", {{"body", R"(
    local g = coroutine.wrap(function() local c <close> = closer "generator" coroutine.yield() end)
    g()
    sleep(1e6))"}});
  Token token = host.start("body");
  CHECK(host.call("log").ok());
  host.cancel(token);
  CHECK_EQUAL(host.wait(token).error("kind"), "cancelled");
  CHECK_EQUAL(host.text("closers"), "opened 1 closed 0 twice 0");
}

TEST("cancel: a result that is ready wins, the next await throws") {  // C2
  Host host;
  host.load_file("support.lua");
  // Both requests arrive in one pass of the loop, so that the result is ready and not yet taken.
  host.tools("test.ready", {{"body", R"(
    local value = await(function(resume) deliver = resume end)
    log(value)
    sleep(0)
    log "never")"},
                            {"deliver", "deliver 'value'"}});
  Token token = host.start("body");
  CHECK(host.call("log").ok());
  host.start("deliver");
  host.cancel(token);
  CHECK_EQUAL(host.wait(token).error("kind"), "cancelled");
  std::string log = host.text("log");
  CHECK(log == "value" || log.empty());
}

TEST("cancel: a resume that comes after a hard close reaches nobody") {
  Host host(kShort);
  host.load_file("support.lua");
  host.tools("test.late", {{"body", R"(
    await(function(resume) late = resume end)
    )"},
                           {"stubborn", "while true do pcall(await, function(resume) late = resume end) end"},
                           {"late", "local delivered = late('x') collectgarbage() return tostring(delivered) .. tostring(late('y'))"}});
  for (const char* tool : {"body", "stubborn"}) {
    Token token = host.start(tool);
    CHECK(host.call("log").ok());
    host.cancel(token);
    CHECK_EQUAL(host.wait(token).error("kind"), "cancelled");
    CHECK_EQUAL(host.text("late"), "falsefalse");
  }
}

TEST("cancel: a task that another one resumes by hand is stopped alone") {  // I3
  Host host(Limits{250, 100, 100});
  host.load_file("support.lua");
  host.tools("test.two", {{"resumer", R"(
    sleep(0.01)
    local ok, err = coroutine.resume(other)
    log(tostring(ok))
    sleep(0.001)
    return "survived")"},
                          {"other", "local c <close> = closer 'other' other = coroutine.running() coroutine.yield() while true do end"}});
  std::vector<Token> tokens = host.start({{"other"}, {"resumer"}});
  CHECK_EQUAL(host.wait(tokens[1]).body, "survived");
  CHECK_EQUAL(host.wait(tokens[0]).error("kind"), "timeout");
  CHECK_EQUAL(host.text("closers"), "opened 1 closed 1 twice 0");
}

// A fault of Lua 5.4.7: a coroutine that waits inside xpcall keeps the offset of a message handler in a stack that coroutine.close
// has unwound; a __close that raises then calls through it.
TEST("cancel: coroutine.close inside xpcall with a __close that fails calls no stale handler") {
  Host host;
  host.load_file("support.lua");
  host.tools("test.stale", {{"body", R"(
    local co = coroutine.create(function()
      local outer <close> = closer("outer", function()
        local function deep(n)
          if n == 0 then
            collectgarbage() collectgarbage()
            local t = {}
            for i = 1, 1e5 do t[i] = {} end
            error("of the closer", 0)
          end
          local a, b, c, d = 1, 2, 3, 4
          return deep(n - 1) + a + b + c + d
        end
        deep(0)
      end)
      local function down(n)
        if n > 0 then
          local a, b, c, d, e = 1, 2, 3, 4, 5
          return down(n - 1) + a + b + c + d + e
        end
        xpcall(function() coroutine.yield() end, function(m) return "handled " .. m end)
        return 0
      end
      down(50)
    end)
    coroutine.resume(co)
    local ok, err = coroutine.close(co)
    return tostring(ok) .. " " .. tostring(err))"}});
  CHECK_EQUAL(host.text("body"), "false of the closer");
}

}  // namespace
}  // namespace panto::test

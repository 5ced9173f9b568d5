// docs/concurrency.md, Callbacks and I4: code that runs outside every task is stopped, too, and charged to nobody else.
#include "check.h"
#include "host.h"

namespace panto::test {
namespace {

constexpr Limits kShort{250, 100, 100};

const char* const kPrelude = R"(
local uv = require "luv"
function after(ms, fn)
  local timer = uv.new_timer()
  timer:start(ms, 0, function() timer:close() fn() end)
end
)";

TEST("callbacks: one that runs for ever is stopped and reported, its siblings and all tasks go on") {  // B2, I1
  Host host(kShort);
  host.load_file("support.lua");
  host.tools("test.callbacks", {{"victim", R"(
    after(1, function() while true do pcall(function() local c <close> = closer 'c' while true do end end) end end)
    after(2, function() log 'the next callback' end)
    sleep(0.5)
    return 'survived')"}},
             kPrelude);
  std::vector<Token> tokens = host.start({{"victim"}, {"sibling"}, {"sibling"}});
  CHECK_EQUAL(host.wait(tokens[0]).body, "survived");
  CHECK_EQUAL(host.wait(tokens[1]).body, "72018");
  CHECK_EQUAL(host.wait(tokens[2]).body, "72018");
  std::vector<std::string> problems = host.problems();
  CHECK_EQUAL(problems.size(), 1U);
  CHECK(problems[0].find("a callback was stopped") != std::string::npos);
  CHECK(problems[0].find("test.callbacks") != std::string::npos);
  CHECK(host.text("log").find("the next callback") != std::string::npos);
}

TEST("callbacks: errors of every type are reported, and nothing is left on the state") {  // B2
  Host host(kShort);
  host.load_file("support.lua");
  host.tools("test.errors", {{"body", R"(
    for _, err in ipairs { "text", 42, { message = "table" }, setmetatable({}, { __tostring = function() return "object" end }),
        setmetatable({}, { __tostring = function() error "worse" end }), print } do
      after(1, function() error(err) end)
    end
    after(1, function() error(nil) end)
    after(1, function() local function f() return 1 + f() end f() end)
    sleep(0.05)
    return 'survived')"}},
             kPrelude);
  CHECK_EQUAL(host.text("body"), "survived");
  host.wait_for_problems(8);
  CHECK_EQUAL(host.problems().size(), 8U);
  CHECK_EQUAL(host.text("body"), "survived");
}

TEST("callbacks: coroutines that callbacks start may wait, and their errors are reported") {  // A6
  Host host(kShort);
  host.load_file("support.lua");
  host.tools("test.orphans", {{"body", R"(
    for i = 1, 50 do
      after(1, function()
        coroutine.wrap(function()
          local c <close> = closer("c", function() sleep(0.001) end)
          sleep(0.001)
          coroutine.wrap(function() sleep(0.001) end)()
          if i == 50 then error "lost" end
        end)()
      end)
    end
    sleep(0.1)
    return 'done')"}},
             kPrelude);
  CHECK_EQUAL(host.text("body"), "done");
  host.wait_for_problems(1);
  CHECK(host.problems()[0].find("lost") != std::string::npos);
  CHECK(host.text("closers").find("twice 0") != std::string::npos);
}

TEST("callbacks: tasks may be resumed by hand and by resume, from callbacks, in any order") {  // A1, A5, K4
  Host host(kShort);
  host.load_file("support.lua");
  host.tools("test.wake", {{"await", R"(
    local n = 0
    for i = 1, 200 do
      n = n + await(function(resume) after(i % 3, function() resume(1) resume(2) end) end)
      if i % 50 == 0 then collectgarbage() end
    end
    return tostring(n))"},
                           {"raw", R"(
    local co, n = coroutine.running(), 0
    for _ = 1, 50 do
      after(0, function() coroutine.resume(co, 1) end)
      n = n + coroutine.yield()
    end
    return tostring(n))"}},
             kPrelude);
  std::vector<Token> tokens = host.start({{"await"}, {"raw"}, {"await"}, {"raw"}});
  CHECK_EQUAL(host.wait(tokens[0]).body, "200");
  CHECK_EQUAL(host.wait(tokens[1]).body, "50");
  CHECK_EQUAL(host.wait(tokens[2]).body, "200");
  CHECK_EQUAL(host.wait(tokens[3]).body, "50");
}

TEST("callbacks: work in libuv's pool runs in states of its own, beside a runaway that is stopped") {  // T1
  Host host(kShort);
  host.load_file("support.lua");
  host.tools("test.pool", {{"body", R"(
    local done, sum = 0, 0
    for i = 1, 8 do
      local work = uv.new_work(function(n)
        local s = 0
        for k = 1, 20000 do s = s + #(("x"):rep(k % 40):gsub("x", "yy")) end
        return n
      end, function(n) done, sum = done + 1, sum + n end)
      work:queue(i)
    end
    while done < 8 do sleep(0.01) end
    return tostring(sum))"},
                           {"runaway", "while true do pcall(string.find, ('a'):rep(2e5), '.-.-.-.-b') end"}},
             kPrelude);
  std::vector<Token> tokens = host.start({{"body"}, {"runaway"}});
  CHECK_EQUAL(host.wait(tokens[0]).body, "36");
  CHECK_EQUAL(host.wait(tokens[1]).error("kind"), "timeout");
}

TEST("callbacks: a finalizer that loops is stopped, and hits nobody") {  // I4
  Host host(kShort);
  host.load_file("support.lua");
  host.tools("test.finalizers", {{"victim", R"(
    for i = 1, 3 do
      setmetatable({}, { __gc = function() log 'finalizer' while true do pcall(function() while true do end end) end end })
    end
    setmetatable({}, { __gc = function() log 'the other one' end })
    collectgarbage()
    collectgarbage()
    sleep(0.01)
    return 'survived')"}});
  std::vector<Token> tokens = host.start({{"victim"}, {"sibling"}, {"sibling"}});
  CHECK_EQUAL(host.wait(tokens[0]).body, "survived");
  CHECK_EQUAL(host.wait(tokens[1]).body, "72018");
  CHECK_EQUAL(host.wait(tokens[2]).body, "72018");
  // Those behind it still run.
  for (int i = 0; i < 200 && host.text("log").find("the other one") == std::string::npos; i++) host.call("sibling");
  CHECK(host.text("log").find("the other one") != std::string::npos);
}

TEST("callbacks: a finalizer is not charged to the task whose allocation collects") {  // I4
  Host host(kShort);
  host.load_file("support.lua");
  host.tools("test.allocates", {{"litters", "setmetatable({}, { __gc = function() while true do end end })"},
                                {"victim", R"(
    for _ = 1, 200 do local t = {} for k = 1, 1000 do t[k] = {} end sleep(0) end
    return 'survived')"}});
  for (int i = 0; i < 3; i++) host.call("litters");
  CHECK_EQUAL(host.text("victim"), "survived");
}

TEST("callbacks: shutdown ends a runtime with handles open and callbacks due") {  // S1
  Host host(kShort);
  host.load_file("support.lua");
  host.tools("test.open", {{"body", R"(
    for i = 1, 20 do
      local timer = uv.new_timer()
      timer:start(i % 3, 1, function() n = (n or 0) + 1 end)
    end
    local pipe = uv.new_pipe()
    uv.new_tcp()
    after(1, function() coroutine.wrap(function() sleep(1e6) end)() end)
    sleep(0.02))"}},
             kPrelude);
  CHECK(host.call("body").ok());
}

}  // namespace
}  // namespace panto::test

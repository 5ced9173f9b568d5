// A hard stop suspends a coroutine by a yield from the count hook, at any instruction. That must leave every
// instruction whole: a program that is suspended and resumed everywhere computes the same.
#include <set>

#include "check.h"
#include "core/chain.h"
#include "instruction.h"
#include "lua.hpp"

namespace panto::test {
namespace {

struct Run {
  std::string digest;
  long suspensions = 0;
  std::set<int> opcodes;
};

// The hook has no upvalue; tests run one at a time.
lua_State* interrupted = nullptr;
Run* current = nullptr;

void suspend(lua_State* L, lua_Debug* event) {
  if (L != interrupted) return;
  current->opcodes.insert(panto_test_opcode(event));
  if (lua_isyieldable(L)) lua_yield(L, 0);
}

// Suspends the program at every n-th instruction; 0: never.
Run run(int every) {
  Run result;
  current = &result;
  lua_State* L = luaL_newstate();
  set_task_of_root(L, nullptr);
  luaL_openlibs(L);
  interrupted = lua_newthread(L);
  if (luaL_loadfile(interrupted, PANTO_TEST_DIR "/opcodes.lua") != LUA_OK)
    fail(__FILE__, __LINE__, lua_tostring(interrupted, -1));
  if (every > 0) lua_sethook(interrupted, suspend, LUA_MASKCOUNT, every);
  int count = 0;
  int status = LUA_YIELD;
  while ((status = lua_resume(interrupted, L, 0, &count)) == LUA_YIELD) {
    lua_pop(interrupted, count);
    result.suspensions++;
  }
  const char* text = lua_tostring(interrupted, -1);
  result.digest = text != nullptr ? text : "no text";
  if (status != LUA_OK) fail(__FILE__, __LINE__, result.digest);
  lua_close(L);
  return result;
}

TEST("opcodes: a program that is suspended at every n-th instruction computes the same") {
  std::string expected = run(0).digest;
  CHECK(expected.find(" of ") != std::string::npos);
  for (int every : {1, 2, 3, 4, 5, 7, 11, 13}) {
    Run interrupted_run = run(every);
    CHECK_EQUAL(interrupted_run.digest, expected);
    CHECK(interrupted_run.suspensions > 1000 / every);
  }
}

TEST("opcodes: that program executes every instruction that a hook can see") {
  Run result = run(1);
  for (int opcode = 0; opcode < panto_test_opcode_count(); opcode++) {
    std::string name = panto_test_opcode_name(opcode);
    // An argument of the one before; and the start of a vararg function, before hooks count.
    if (name == "EXTRAARG" || name == "VARARGPREP") continue;
    if (result.opcodes.count(opcode) == 0) note_failure(__FILE__, __LINE__, name + " is not executed");
  }
}

}  // namespace
}  // namespace panto::test

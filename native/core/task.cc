#include "core/task.h"

#include "core/await.h"
#include "core/chain.h"
#include "core/json.h"

namespace panto {
namespace {

// Stack slots of a root coroutine.
constexpr int kHandlerSlot = 1;  // the message handler
constexpr int kValueSlot = 2;    // what the body returned or threw

void set_failure(Task* task, std::string message) {
  task->outcome = EventKind::kSettledError;
  task->failure.message = std::move(message);
}

void take_tool_result(lua_State* L, Task* task) {
  switch (lua_type(L, kValueSlot)) {
    case LUA_TNIL:
      task->outcome = EventKind::kSettledText;
      return;
    case LUA_TSTRING:
    case LUA_TNUMBER: {
      size_t length = 0;
      const char* text =
          lua_tolstring(L, kValueSlot, &length);  // a number is converted in place; may raise on memory
      task->outcome = EventKind::kSettledText;
      task->body.assign(text, length);
      return;
    }
    case LUA_TTABLE:
      if (encode_json(L, kValueSlot, "result", JsonEncoding::kToolResult, {}, &task->body,
                      &task->failure.message)) {
        task->outcome = EventKind::kSettledJson;
      }
      return;
    default:
      set_failure(task, std::string("the handler returned a ") + luaL_typename(L, kValueSlot) +
                            "; expected a string, a table with content, or nil");
  }
}

void take_control_result(lua_State* L, Task* task) {
  if (encode_json(L, kValueSlot, "result", JsonEncoding::kExact, {}, &task->body, &task->failure.message)) {
    task->outcome = EventKind::kSettledJson;
  }
}

int task_finish(lua_State* L, int status, lua_KContext) {
  Task* task = task_of_root(L);
  lua_settop(L, kValueSlot);
  if (status == LUA_OK || status == LUA_YIELD) {
    if (task->kind == Task::Kind::kTool) {
      take_tool_result(L, task);
    } else {
      take_control_result(L, task);
    }
  } else if (status == LUA_ERRMEM) {
    task->failure = Failure{"out_of_memory", "not enough memory", {}, {}};
  } else if (status == LUA_ERRERR) {
    // The message handler itself failed, or the stack is full: what it recorded so far is incomplete.
    const char* text =
        lua_type(L, kValueSlot) == LUA_TSTRING ? lua_tostring(L, kValueSlot) : "error in error handling";
    set_failure(task, text);
  }
  // LUA_ERRRUN: record_failure has filled task->failure.
  lua_settop(L, 0);
  return 0;
}

}  // namespace

int task_main(lua_State* L) {
  lua_pushcfunction(L, record_failure);
  lua_insert(L, kHandlerSlot);
  int status = lua_pcallk(L, lua_gettop(L) - 2, 1, kHandlerSlot, 0, task_finish);
  return task_finish(L, status, 0);
}

}  // namespace panto

#include "core/task.h"

#include "core/await.h"
#include "core/chain.h"
#include "core/children.h"
#include "core/interrupt.h"
#include "core/json.h"
#include "core/scheduler.h"
#include "core/spawn.h"

namespace panto {
namespace {

// Stack slots of a root coroutine.
constexpr int kHandlerSlot = 1;  // the message handler
constexpr int kValueSlot = 2;    // what the body returned or threw: the first value

const char kDefersKey = 0;  // registry: table task id -> { functions… }

void set_failure(Task* task, std::string message) {
  task->failed = true;
  task->outcome = EventKind::kSettledError;
  task->failure.message = std::move(message);
}

void take_tool_result(lua_State* L, Task* task) {
  switch (lua_type(L, kValueSlot)) {
    case LUA_TNONE:
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
      } else {
        task->failed = true;
      }
      return;
    default:
      set_failure(task, std::string("the handler returned a ") + luaL_typename(L, kValueSlot) +
                            "; expected a string, a table with content, or nil");
  }
}

void take_control_result(lua_State* L, Task* task) {
  lua_settop(L, kValueSlot);
  if (encode_json(L, kValueSlot, "result", JsonEncoding::kExact, {}, &task->body, &task->failure.message)) {
    task->outcome = EventKind::kSettledJson;
  } else {
    task->failed = true;
  }
}

// stack: handler, results… or error
void take_outcome(lua_State* L, Task* task, int status) {
  bool returned = status == LUA_OK || status == LUA_YIELD;
  if (!returned) {
    task->failed = true;
    task->outcome = EventKind::kSettledError;
    if (status == LUA_ERRMEM) {
      task->failure = Failure{"out_of_memory", "not enough memory", {}, {}};
    } else if (is_kill(L, kValueSlot) || is_cancel(L, kValueSlot)) {
      // Raised past every message handler; the scheduler says what it was.
      if (task->failure.message.empty()) task->failure = Failure{"cancelled", "cancelled", {}, {}};
    } else if (status == LUA_ERRERR || task->failure.message.empty()) {
      // The message handler itself failed, or the stack is full: what it recorded so far is incomplete.
      const char* text =
          lua_type(L, kValueSlot) == LUA_TSTRING ? lua_tostring(L, kValueSlot) : "error in error handling";
      set_failure(task, text);
    }
    // Else record_failure has filled task->failure.
  } else if (task->kind == Task::Kind::kTool) {
    take_tool_result(L, task);
  } else if (task->kind == Task::Kind::kControl) {
    take_control_result(L, task);
  }
  if (task->kind == Task::Kind::kChild || task->kind == Task::Kind::kExtension) {
    keep_child_values(L, task, returned, lua_gettop(L) - kHandlerSlot);
  }
}

}  // namespace

bool pop_defer(lua_State* L, const Task* task) {
  int top = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kDefersKey);
  bool found = false;
  if (lua_type(L, -1) == LUA_TTABLE && lua_rawgeti(L, -1, static_cast<lua_Integer>(task->id)) == LUA_TTABLE) {
    lua_Integer last = luaL_len(L, -1);
    // Taken-back ones are false.
    for (; last > 0 && !found; last--) {
      lua_rawgeti(L, -1, last);
      lua_pushnil(L);
      lua_rawseti(L, -3, last);
      found = lua_isfunction(L, -1);
      if (!found) lua_pop(L, 1);
    }
  }
  if (found) lua_insert(L, top + 1);
  lua_settop(L, found ? top + 1 : top);
  return found;
}

void forget_defers(lua_State* L, const Task* task) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kDefersKey) == LUA_TTABLE) {
    lua_pushnil(L);
    lua_rawseti(L, -2, static_cast<lua_Integer>(task->id));
  }
  lua_pop(L, 1);
}

int task_main(lua_State* L) {
  lua_pushcfunction(L, record_failure);
  lua_insert(L, kHandlerSlot);
  int status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, kHandlerSlot, 0, task_continue);
  return task_continue(L, status, 0);
}

int task_continue(lua_State* L, int status, lua_KContext) {
  Task* task = task_of_root(L);
  Scheduler* scheduler = task->scheduler;
  if (task->stage == Task::Stage::kBody) {
    task->stage = Task::Stage::kChildren;
    take_outcome(L, task, status);
    if (task->failed || task->cancelled) scheduler->cancel_children(task);
  }
  if (task->stage == Task::Stage::kChildren) {
    lua_settop(L, kHandlerSlot);
    // After a hard stop the scheduler ends the children.
    if (!task->children.empty() && !task->at_least(Phase::kHard)) {
      push_await_mark(L);
      return lua_yieldk(L, 1, 0, task_continue);
    }
    if (!task->failed && !task->orphaned_failures.empty()) {
      task->failed = true;
      task->failure = std::move(task->orphaned_failures.front().failure);
    }
    task->stage = Task::Stage::kDefers;
    task->shield++;
    status = LUA_OK;
  }
  // Entered again after a defer that has yielded or failed.
  if (status != LUA_OK && status != LUA_YIELD) scheduler->report_defer_failure(task);
  while (!task->at_least(Phase::kCut) && pop_defer(L, task)) {
    status = lua_pcallk(L, 0, 0, kHandlerSlot, 0, task_continue);
    if (status != LUA_OK) scheduler->report_defer_failure(task);
  }
  task->shield--;
  forget_defers(L, task);
  lua_settop(L, 0);
  return 0;
}

int add_defer(lua_State* L, Task* task) {
  luaL_checkstack(L, 4, nullptr);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kDefersKey) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kDefersKey);
  }
  if (lua_rawgeti(L, -1, static_cast<lua_Integer>(task->id)) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, static_cast<lua_Integer>(task->id));
  }
  int number = static_cast<int>(luaL_len(L, -1)) + 1;
  lua_pushvalue(L, -3);
  lua_rawseti(L, -2, number);
  lua_pop(L, 3);
  return number;
}

void remove_defer(lua_State* L, Task* task, int number) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kDefersKey) == LUA_TTABLE &&
      lua_rawgeti(L, -1, static_cast<lua_Integer>(task->id)) == LUA_TTABLE &&
      lua_rawgeti(L, -1, number) == LUA_TFUNCTION) {
    lua_pop(L, 1);
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, number);
  }
}

}  // namespace panto

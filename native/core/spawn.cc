#include "core/spawn.h"

#include <uv.h>

#include <algorithm>

#include "core/await.h"
#include "core/chain.h"
#include "core/runtime.h"
#include "core/scheduler.h"

namespace panto {
namespace {

const char kHandleKey = 0;   // registry: metatable of handles
const char kHandlesKey = 0;  // registry: task id -> handle, while the task lives

struct Handle {
  UnitId task;
  enum class State : uint8_t { kRunning, kReturned, kFailed } state;
  bool observed;   // somebody waits or has asked; an error then is theirs
  bool cancelled;  // by its handle: what comes of it fails nobody
  bool timed_out;  // its own deadline ended it
  UnitId parent;   // 0: none
};

constexpr int kValues = 1;
constexpr int kWaiting = 2;

Handle* check_handle(lua_State* L, int index) {
  auto* handle = static_cast<Handle*>(lua_touserdata(L, index));
  bool is_handle = handle != nullptr && lua_getmetatable(L, index) &&
                   lua_rawgetp(L, LUA_REGISTRYINDEX, &kHandleKey) == LUA_TTABLE && lua_rawequal(L, -1, -2);
  luaL_argexpected(L, is_handle, index, "task handle");
  lua_pop(L, 2);
  return handle;
}

// Somebody has the outcome, or will: an error is no longer the parent's.
void observe(Handle* handle) {
  handle->observed = true;
  Task* parent = handle->parent == 0 ? nullptr : Runtime::current()->scheduler().find(handle->parent);
  if (parent == nullptr) return;
  auto& orphaned = parent->orphaned_failures;
  orphaned.erase(std::remove_if(orphaned.begin(), orphaned.end(),
                                [handle](const OrphanedFailure& each) { return each.child == handle->task; }),
                 orphaned.end());
}

// Pushes the handle of a live task, or nil. stack: +1
Handle* push_handle(lua_State* L, const Task* task) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kHandlesKey);
  lua_rawgeti(L, -1, static_cast<lua_Integer>(task->id));
  lua_remove(L, -2);
  return static_cast<Handle*>(lua_touserdata(L, -1));
}

// core.spawn(seconds | nil, of_extension: boolean, fn, ...) -> handle. With `seconds` the task may run no
// longer.
int spawn(lua_State* L) {
  lua_Number seconds = luaL_optnumber(L, 1, -1);
  bool of_extension = lua_toboolean(L, 2);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  Runtime* runtime = Runtime::current();
  Task* parent = of_extension ? nullptr : current_task();
  if (!of_extension && parent == nullptr) return luaL_error(L, "spawn outside a task; use ext.spawn");
  if (parent != nullptr && parent->stage != Task::Stage::kBody)
    return luaL_error(L, "spawn in a task that is ending");
  int args = lua_gettop(L) - 2;  // the function included
  auto* handle = static_cast<Handle*>(lua_newuserdatauv(L, sizeof(Handle), 2));
  *handle = Handle{0, Handle::State::kRunning, false, false, false, parent != nullptr ? parent->id : 0};
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kHandleKey);
  lua_setmetatable(L, -2);
  int handle_index = lua_gettop(L);

  lua_State* root = lua_newthread(L);
  luaL_checkstack(L, args + 4, "too many arguments to spawn");
  if (!lua_checkstack(root, args + 4)) return luaL_error(L, "too many arguments to spawn");
  lua_pushcfunction(root, task_main);
  for (int i = 0; i < args; i++) lua_pushvalue(L, 3 + i);
  lua_xmove(L, root, args);

  // The id first: anchoring may raise, and a task that is known must be able to run.
  UnitId id = runtime->scheduler().next_id();
  handle->task = id;
  Scheduler::anchor(L, id, -1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kHandlesKey);
  lua_pushvalue(L, handle_index);
  lua_rawseti(L, -2, static_cast<lua_Integer>(id));
  uint64_t deadline = seconds < 0 ? 0 : uv_hrtime() + static_cast<uint64_t>(seconds * 1e9);
  runtime->scheduler().add_spawned(id, root, args, parent, runtime->current_owner(), deadline);
  lua_settop(L, handle_index);
  return 1;
}

// core.when_done(handle, fn): calls fn() when the task has settled, at once if it has. fn must not raise.
int when_done(lua_State* L) {
  Handle* handle = check_handle(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  observe(handle);
  if (handle->state != Handle::State::kRunning) {
    lua_call(L, 0, 0);
    return 0;
  }
  if (lua_getiuservalue(L, 1, kWaiting) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, kWaiting);
  }
  lua_insert(L, 2);
  lua_rawseti(L, 2, luaL_len(L, 2) + 1);
  return 0;
}

// core.outcome(handle) -> "running" | "returned", … | "failed", error | "timeout"
int outcome(lua_State* L) {
  Handle* handle = check_handle(L, 1);
  lua_settop(L, 1);
  if (handle->state == Handle::State::kRunning) {
    lua_pushliteral(L, "running");
    return 1;
  }
  observe(handle);
  if (handle->timed_out) {
    lua_pushliteral(L, "timeout");
    return 1;
  }
  bool returned = handle->state == Handle::State::kReturned;
  lua_pushstring(L, returned ? "returned" : "failed");
  if (lua_getiuservalue(L, 1, kValues) != LUA_TTABLE) {
    if (returned) return 1;
    push_cancel(L);  // closed before it could say
    lua_replace(L, 3);
    return 2;
  }
  lua_getfield(L, 3, "n");
  int count = static_cast<int>(lua_tointeger(L, -1));
  lua_pop(L, 1);
  luaL_checkstack(L, count, "too many results");
  for (int i = 1; i <= count; i++) lua_rawgeti(L, 3, i);
  lua_remove(L, 3);
  return 1 + count;
}

// core.cancel(handle)
int cancel(lua_State* L) {
  Handle* handle = check_handle(L, 1);
  handle->cancelled = true;
  Runtime::current()->scheduler().cancel(CancelTask{handle->task, CancelReason::kCancelled});
  return 0;
}

const luaL_Reg kFunctions[] = {
    {"spawn", spawn}, {"when_done", when_done}, {"outcome", outcome}, {"cancel", cancel}, {nullptr, nullptr},
};

// What was stopped by a limit throws text that says so: CANCEL would tell the waiter that it is cancelled
// itself. stack: …, handle
void explain_stop(lua_State* L, const Task* task) {
  const Failure& failure = task->failure;
  lua_createtable(L, 1, 1);
  if (failure.where.empty()) {
    lua_pushstring(L, failure.message.c_str());
  } else {
    lua_pushfstring(L, "%s: %s", failure.where.c_str(), failure.message.c_str());
  }
  lua_rawseti(L, -2, 1);
  lua_pushinteger(L, 1);
  lua_setfield(L, -2, "n");
  lua_setiuservalue(L, -2, kValues);
}

// Protected. stack: task
int call_waiting(lua_State* L) {
  auto* task = static_cast<const Task*>(lua_touserdata(L, 1));
  Handle* handle = push_handle(L, task);
  if (handle == nullptr) return 0;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kHandlesKey);
  lua_pushnil(L);
  lua_rawseti(L, -2, static_cast<lua_Integer>(task->id));
  lua_pop(L, 1);
  handle->state = task->failed ? Handle::State::kFailed : Handle::State::kReturned;
  handle->timed_out = task->failed && task->deadline_ns != 0 && task->cancelled == CancelReason::kTimeout;
  bool by_limit = task->cancelled == CancelReason::kHeld || task->cancelled == CancelReason::kMemory;
  if (task->failed && by_limit) explain_stop(L, task);
  if (lua_getiuservalue(L, 2, kWaiting) != LUA_TTABLE) return 0;
  lua_Integer count = luaL_len(L, 3);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 3, i);
    lua_call(L, 0, 0);
  }
  return 0;
}

}  // namespace

void open_spawn(lua_State* L) {
  luaL_setfuncs(L, kFunctions, 0);
  lua_newtable(L);
  lua_pushliteral(L, "panto.task");
  lua_setfield(L, -2, "__name");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kHandleKey);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kHandlesKey);
}

void keep_child_values(lua_State* L, Task* task, bool, int count) {
  luaL_checkstack(L, 4, nullptr);
  lua_createtable(L, count, 1);
  lua_insert(L, lua_gettop(L) - count);
  int values = lua_gettop(L) - count;
  for (int i = count; i >= 1; i--) lua_rawseti(L, values, i);
  lua_pushinteger(L, count);
  lua_setfield(L, values, "n");
  Handle* handle = push_handle(L, task);
  lua_insert(L, values);
  if (handle != nullptr) {
    lua_setiuservalue(L, values, kValues);
  }
}

void finish_child(lua_State* L, const Task* task) {
  if (!lua_checkstack(L, 4)) return;
  lua_pushcfunction(L, call_waiting);
  lua_pushlightuserdata(L, const_cast<Task*>(task));
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
}

bool is_child_observed(lua_State* L, const Task* task) {
  if (!lua_checkstack(L, 3)) return true;
  Handle* handle = push_handle(L, task);
  bool observed = handle == nullptr || handle->observed || handle->cancelled;
  lua_pop(L, 1);
  return observed;
}

}  // namespace panto

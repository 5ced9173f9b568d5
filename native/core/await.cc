#include "core/await.h"

#include "core/chain.h"
#include "core/coroutine_lib.h"
#include "core/interrupt.h"
#include "core/runtime.h"
#include "core/scheduler.h"
#include "core/sleep.h"
#include "core/task.h"
#include "lua/continuation.h"

namespace panto {
namespace {

const char kCancelKey = 0;
const char kWaiterKey = 0;
char await_mark;

constexpr int kWaiterSlot = 2;

Waiter* to_waiter(lua_State* L, int index) {
  return static_cast<Waiter*>(lua_touserdata(L, index));
}

// The task to wake, if it is still there; null for an orphan and for one that has settled.
Task* task_of(const Waiter* waiter) {
  return waiter->task == 0 ? nullptr : Runtime::current()->scheduler().find(waiter->task);
}

void unanchor_orphan(lua_State* L, Waiter* waiter) {
  if (waiter->orphan == nullptr) return;
  waiter->orphan = nullptr;
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, waiter);
}

// Nobody holds the waiter's resume any more, nor the coroutine on whose stack it lies: a task that still
// waits is lost.
int waiter_gc(lua_State* L) {
  Waiter* waiter = to_waiter(L, 1);
  if (waiter->timer != nullptr) cancel_sleep(waiter);
  Runtime* runtime = Runtime::current();
  if (waiter->state == Waiter::State::kWaiting && waiter->task != 0 && !runtime->closing()) {
    runtime->scheduler().note_lost(waiter->task);
  }
  return 0;
}

// The wait is over, by a result, a cancel, or the end of its coroutine: without a result it is undone.
int waiter_close(lua_State* L) {
  Waiter* waiter = to_waiter(L, 1);
  if (waiter->state == Waiter::State::kReady) return 0;
  waiter->state = Waiter::State::kDead;
  lua_getiuservalue(L, 1, 2);
  lua_callk(L, 0, 0, 0, [](lua_State*, int, lua_KContext) { return 0; });
  return 0;
}

// Lua: resume(...) -> delivered. Upvalue 1: the waiter.
int waiter_resume(lua_State* L) {
  Waiter* waiter = to_waiter(L, lua_upvalueindex(1));
  bool open = waiter->state == Waiter::State::kStarting || waiter->state == Waiter::State::kWaiting;
  if (open) {
    int count = lua_gettop(L);
    lua_createtable(L, count, 1);
    lua_insert(L, 1);  // stack: values, …
    for (int i = count; i >= 1; i--) lua_rawseti(L, 1, i);
    lua_pushinteger(L, count);
    lua_setfield(L, 1, "n");
    lua_setiuservalue(L, lua_upvalueindex(1), 1);
  }
  lua_pushboolean(L, open && deliver(waiter));
  return 1;
}

// Pushes what resume was given. Returns how many.
int push_values(lua_State* L) {
  if (lua_getiuservalue(L, kWaiterSlot, 1) != LUA_TTABLE) return 0;
  int values = lua_gettop(L);
  lua_getfield(L, values, "n");
  int count = static_cast<int>(lua_tointeger(L, -1));
  lua_pop(L, 1);
  luaL_checkstack(L, count, "too many values to resume with");
  for (int i = 1; i <= count; i++) lua_rawgeti(L, values, i);
  return count;
}

// Cancelling is sticky, but closers and defers may wait.
bool must_throw(Task* task) {
  return task != nullptr && task->cancelled && !is_cleaning_up(task);
}

int throw_cancel(lua_State* L, int, lua_KContext) {
  if (Task* task = current_task()) task->cancel_thrown = true;
  push_cancel(L);
  return lua_error(L);
}

int await_resumed(lua_State* L, int, lua_KContext) {
  Waiter* waiter = to_waiter(L, kWaiterSlot);
  if (waiter->state == Waiter::State::kReady) {
    // Who keeps a resume that has been used does not keep the coroutine.
    lua_pushnil(L);
    lua_setiuservalue(L, kWaiterSlot, 3);
  }
  if (waiter->state == Waiter::State::kReady) {
    unanchor_orphan(L, waiter);
    return push_values(L);
  }
  if (must_throw(current_task())) {
    waiter->state = Waiter::State::kDead;
    if (waiter->timer != nullptr) cancel_sleep(waiter);
    return throw_cancel(L, LUA_OK, 0);
  }
  return suspend_await(L, waiter);  // resumed by hand, from C: go on waiting
}

int await_started(lua_State* L, int, lua_KContext) {
  bool has_undo = lua_isfunction(L, -1);
  lua_setiuservalue(L, kWaiterSlot, 2);
  Waiter* waiter = to_waiter(L, kWaiterSlot);
  if (waiter->state == Waiter::State::kReady) return push_values(L);
  if (has_undo) lua_toclose(L, kWaiterSlot);
  return suspend_await(L, waiter);
}

}  // namespace

void open_await(lua_State* L) {
  lua_newuserdatauv(L, 0, 0);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "panto.cancel");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, [](lua_State* state) {
    lua_pushliteral(state, "cancelled");
    return 1;
  });
  lua_setfield(L, -2, "__tostring");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kCancelKey);

  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "panto.waiter");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, waiter_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, waiter_close);
  lua_setfield(L, -2, "__close");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kWaiterKey);
}

bool is_cancel(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA) return false;
  index = lua_absindex(L, index);
  push_cancel(L);
  bool same = lua_rawequal(L, -1, index);
  lua_pop(L, 1);
  return same;
}

void push_cancel(lua_State* L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kCancelKey);
}

Waiter* begin_await(lua_State* L) {
  Task* running = current_task();
  if (running != nullptr && running->at_least(Phase::kHard))
    luaL_error(L, "cannot await here: the task has been closed");
  if (running != nullptr && running->kind == Task::Kind::kFinalizers)
    luaL_error(L, "cannot await here: in a finalizer");
  if (!lua_isyieldable(L)) {
    bool is_main = lua_pushthread(L) == 1;
    luaL_error(L, is_main ? "cannot await here: not in a coroutine"
                          : "cannot await here: a C function that cannot yield is on the stack");
  }
  Task* task = current_task();
  if (must_throw(task)) throw_cancel(L, LUA_OK, 0);
  auto* waiter = static_cast<Waiter*>(lua_newuserdatauv(L, sizeof(Waiter), 3));
  *waiter = Waiter{Waiter::State::kStarting, task != nullptr ? task->id : 0, nullptr,
                   Runtime::current()->current_owner(), nullptr};
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kWaiterKey);
  lua_setmetatable(L, -2);
  if (task != nullptr) {
    // Whoever can resume the task keeps it alive.
    lua_pushthread(task->root);
    if (task->root != L) lua_xmove(task->root, L, 1);
    lua_setiuservalue(L, -2, 3);
  }
  return waiter;
}

int suspend_await(lua_State* L, Waiter* waiter) {
  waiter->state = Waiter::State::kWaiting;
  Runtime::current()->scheduler().suspending = waiter;
  lua_settop(L, kWaiterSlot);
  push_await_mark(L);
  return lua_yieldk(L, 1, 0, await_resumed);
}

int await(lua_State* L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  begin_await(L);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, kWaiterSlot);
  lua_pushcclosure(L, waiter_resume, 1);
  lua_callk(L, 1, 1, 0, await_started);
  return await_started(L, LUA_OK, 0);
}

bool deliver(Waiter* waiter) {
  Waiter::State before = waiter->state;
  if (before != Waiter::State::kStarting && before != Waiter::State::kWaiting) return false;
  waiter->state = Waiter::State::kReady;
  if (before == Waiter::State::kStarting) return true;
  Scheduler& scheduler = Runtime::current()->scheduler();
  if (waiter->orphan != nullptr) {
    scheduler.make_ready(waiter->orphan, waiter->owner);
    return true;
  }
  Task* task = task_of(waiter);
  if (task == nullptr) return false;
  scheduler.make_ready(task);
  return true;
}

bool is_await_mark(lua_State* L, lua_State* co, int count) {
  return count == 1 && lua_touserdata(L, -1) == &await_mark && lua_status(co) == LUA_YIELD;
}

void push_await_mark(lua_State* L) {
  lua_pushlightuserdata(L, &await_mark);
}

void adopt_orphan(lua_State* L, lua_State* co) {
  Waiter* waiter = Runtime::current()->scheduler().suspending;
  lua_pushthread(co);
  lua_xmove(co, L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, waiter);
  waiter->orphan = co;
}

bool waits_in_await(lua_State* co) {
  lua_KFunction continuation = panto_continuation(co);
  // A root that waits for its children is not to be resumed by hand either.
  bool ending = continuation == task_continue && task_of_root(co) != nullptr &&
                task_of_root(co)->state == Task::State::kAwaiting;
  return continuation == await_resumed || continuation == coroutine_resumed || ending;
}

}  // namespace panto

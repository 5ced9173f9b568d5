#include "core/sleep.h"

#include <uv.h>

#include <cmath>
#include <new>

#include "core/await.h"
#include "core/runtime.h"
#include "core/scheduler.h"

namespace panto {

// Owned by the loop until its close callback; `waiter` is cleared when the waiter dies first.
struct SleepTimer {
  uv_timer_t handle;
  Waiter* waiter;
};

namespace {

void close_timer(SleepTimer* timer) {
  Runtime::current()->scheduler().sleeping--;
  uv_close(reinterpret_cast<uv_handle_t*>(&timer->handle),
           [](uv_handle_t* handle) { delete static_cast<SleepTimer*>(handle->data); });
}

// The registry holds the waiter under the timer's address, so that the task lives as long as the timer runs.
// The key is there: nothing is allocated.
void release(SleepTimer* timer) {
  lua_State* L = Runtime::current()->state();
  if (!lua_checkstack(L, 1)) return;
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, timer);
}

void on_timer(uv_timer_t* handle) {
  auto* timer = static_cast<SleepTimer*>(handle->data);
  Waiter* waiter = timer->waiter;
  waiter->timer = nullptr;
  deliver(waiter);
  release(timer);
  close_timer(timer);
  Runtime::current()->scheduler().run_ready();
}

}  // namespace

int sleep(lua_State* L) {
  lua_Number seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, seconds >= 0 && seconds <= 1e9, 1, "seconds, 0 to 1e9");
  lua_settop(L, 1);
  Waiter* waiter = begin_await(L);
  uv_loop_t* loop = Runtime::current()->loop();
  auto* timer = new SleepTimer;
  timer->handle.data = timer;
  timer->waiter = waiter;
  waiter->timer = timer;
  Runtime::current()->scheduler().sleeping++;
  uv_timer_init(loop, &timer->handle);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, timer);  // may raise: the waiter's collection then closes the timer
  uv_update_time(loop);                      // the loop's clock stands while Lua computes
  uv_timer_start(&timer->handle, on_timer, static_cast<uint64_t>(std::ceil(seconds * 1000)), 0);
  return suspend_await(L, waiter);
}

void cancel_sleep(Waiter* waiter) {
  SleepTimer* timer = waiter->timer;
  waiter->timer = nullptr;
  timer->waiter = nullptr;
  release(timer);
  close_timer(timer);
}

}  // namespace panto

#include "core/chain.h"

#include <atomic>

#include "core/await.h"
#include "core/interrupt.h"
#include "core/runtime.h"
#include "core/scheduler.h"
#include "core/task.h"
#include "lua/interrupt.h"
#include "lua/resume.h"

namespace panto {
namespace {

// Read by the signal handler on this thread: a frame is whole before it is linked. initial-exec: the access
// allocates nothing.
thread_local ChainFrame* volatile top __attribute__((tls_model("initial-exec"))) = nullptr;

void publish(const ChainFrame* frame) {
  if (Runtime* runtime = Runtime::current())
    runtime->watchdog().publish(frame != nullptr ? frame->unit : nullptr);
}

Unit* unit_of(lua_State* L) {
  if (Task* task = task_of_root(L)) return task;
  return top != nullptr ? top->unit : nullptr;
}

// An error that nobody in the coroutine catches closes its variables at once, with yields, when it is the
// soft CANCEL.
int closes_at_base(lua_State* L) {
  ChainFrame* frame = top;
  return frame != nullptr && frame->unit != nullptr && !frame->unit->at_least(Phase::kHard) &&
         is_cancel(L, -1);
}

}  // namespace

ScopedFrame::ScopedFrame(lua_State* coroutine, Unit* unit) : frame_{coroutine, unit, top} {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  top = &frame_;
  if (frame_.previous == nullptr || frame_.previous->unit != unit) publish(&frame_);
}

ScopedFrame::~ScopedFrame() {
  top = frame_.previous;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (frame_.previous == nullptr || frame_.previous->unit != frame_.unit) publish(frame_.previous);
}

ChainFrame* chain_top() {
  return top;
}

Task* current_task() {
  return top != nullptr && top->unit != nullptr ? top->unit->task : nullptr;
}

Task* task_of_root(lua_State* L) {
  return *static_cast<Task**>(lua_getextraspace(L));
}

void set_task_of_root(lua_State* L, Task* task) {
  *static_cast<Task**>(lua_getextraspace(L)) = task;
}

}  // namespace panto

using panto::Phase;

// Lua's own lua_resume, under a frame of the chain. A task's end is seen here, whoever resumed its root: the
// scheduler, a luv callback that calls coroutine.resume, another task.
extern "C" __attribute__((visibility("default"))) int lua_resume(lua_State* L, lua_State* from, int nargs,
                                                                 int* nresults) {
  int status = LUA_OK;
  bool refused = false;
  {
    panto::Unit* unit = panto::unit_of(L);
    panto::ScopedFrame frame(L, unit);
    panto::arm_if_stopping(L, unit);
    status = panto_resume(L, from, nargs, nresults, panto::closes_at_base);
    // It runs already, or the C stack is full: the coroutine is as it was.
    refused = status > LUA_YIELD && lua_status(L) != status;
    // A coroutine that a hard stop has suspended, or killed, is closed where it stopped: innermost first. A
    // plain yield is left alone; the coroutine may be shared.
    if (unit != nullptr && unit->at_least(Phase::kHard)) {
      bool stopped = status == LUA_YIELD && unit->hook_yielded == L;
      bool died = status > LUA_YIELD && lua_status(L) == status;
      if (stopped || died) {
        unit->hook_yielded = nullptr;
        lua_closethread(L, from);
        lua_settop(L, 0);
        panto::push_kill(L);
        *nresults = 1;
        status = LUA_ERRRUN;
      }
    }
  }
  panto::Task* task = panto::task_of_root(L);
  if (task != nullptr && !refused) task->scheduler->root_returned(task, status, *nresults);
  return status;
}

// Lua's own lua_closethread, under a frame of the chain: closers are Lua code, and can be interrupted.
extern "C" __attribute__((visibility("default"))) int lua_closethread(lua_State* L, lua_State* from) {
  panto::Unit* unit = panto::unit_of(L);
  panto::ScopedFrame frame(L, unit);
  panto_forget_handler(L);  // upstream keeps a stale one (lstate_wrapped.c)
  panto_allow_hooks(L);     // a raise out of a hook leaves them off
  if (unit != nullptr && unit->at_least(Phase::kHard)) {
    panto::arm_if_stopping(L, unit);
  } else {
    panto::disarm(L);
  }
  int status = panto_upstream_closethread(L, from);
  panto::disarm(L);
  return status;
}

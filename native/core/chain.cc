#include "core/chain.h"

#include "core/scheduler.h"
#include "core/task.h"

extern "C" int panto_base_resume(lua_State* L, lua_State* from, int nargs, int* nresults);

namespace panto {
namespace {

// Lua rocks resume coroutines on any thread; initial-exec keeps the access one instruction.
thread_local ChainFrame* top __attribute__((tls_model("initial-exec"))) = nullptr;

class ScopedFrame {
 public:
  explicit ScopedFrame(lua_State* coroutine) : frame_{coroutine, task_of_root(coroutine), top} {
    if (frame_.task == nullptr && top != nullptr) frame_.task = top->task;
    top = &frame_;
  }
  ~ScopedFrame() { top = frame_.previous; }
  ScopedFrame(const ScopedFrame&) = delete;
  ScopedFrame& operator=(const ScopedFrame&) = delete;

 private:
  ChainFrame frame_;
};

}  // namespace

CallbackFrame::CallbackFrame(lua_State* main) : frame_{main, nullptr, top} {
  top = &frame_;
}
CallbackFrame::~CallbackFrame() {
  top = frame_.previous;
}

ChainFrame* chain_top() {
  return top;
}

Task* current_task() {
  return top != nullptr ? top->task : nullptr;
}

Task* task_of_root(lua_State* L) {
  return *static_cast<Task**>(lua_getextraspace(L));
}

void set_task_of_root(lua_State* L, Task* task) {
  *static_cast<Task**>(lua_getextraspace(L)) = task;
}

}  // namespace panto

// Lua's own lua_resume, under a frame of the chain. A task's end is seen here, whoever resumed its root: the
// scheduler, a luv callback that calls coroutine.resume, another task.
extern "C" __attribute__((visibility("default"))) int lua_resume(lua_State* L, lua_State* from, int nargs,
                                                                 int* nresults) {
  int status = LUA_OK;
  {
    panto::ScopedFrame frame(L);
    status = panto_base_resume(L, from, nargs, nresults);
  }
  panto::Task* task = panto::task_of_root(L);
  if (task != nullptr) task->scheduler->root_returned(task, status, *nresults);
  return status;
}

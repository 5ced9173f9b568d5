// The chain of coroutines that run right now, innermost first: who is running, and for which task.
//
// Every lua_resume pushes a frame. A frame belongs to the task whose root it resumes, else to the task of the
// frame below it. States that libuv's pool runs (uv.new_work) have chains of their own: the chain is per
// thread.
#pragma once

#include "lua.hpp"

namespace panto {

struct Task;

struct ChainFrame {
  lua_State* coroutine;
  Task* task;  // null outside every task
  ChainFrame* previous;
};

// Marks a stretch in which a luv callback runs: outside every task, also where luv calls back from within one
// (uv.walk).
class CallbackFrame {
 public:
  explicit CallbackFrame(lua_State* main);
  ~CallbackFrame();
  CallbackFrame(const CallbackFrame&) = delete;
  CallbackFrame& operator=(const CallbackFrame&) = delete;

 private:
  ChainFrame frame_;
};

// The innermost frame of this thread; null when no coroutine runs.
ChainFrame* chain_top();

// The task that runs on this thread; null in a luv callback and in coroutines that such a callback resumed.
Task* current_task();

// The task whose root coroutine `L` is; null for every other state. Kept in Lua's extra space, which new
// coroutines copy from the main one: the main state's must stay null.
Task* task_of_root(lua_State* L);
void set_task_of_root(lua_State* L, Task* task);

}  // namespace panto

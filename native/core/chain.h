// The chain of coroutines that run right now, innermost first: who is running, and for which unit.
//
// Every lua_resume, every lua_closethread and every luv callback pushes a frame. A frame belongs to the task
// whose root it is, else to the unit of the frame below it. States that libuv's pool runs (uv.new_work) have
// chains of their own: the chain is per thread.
#pragma once

#include "core/unit.h"
#include "lua.hpp"

namespace panto {

struct Task;

struct ChainFrame {
  lua_State* coroutine;
  Unit* unit;  // null outside every unit
  ChainFrame* previous;
};

// Pushes a frame for as long as it lives. Tells the watchdog when the unit changes.
class ScopedFrame {
 public:
  ScopedFrame(lua_State* coroutine, Unit* unit);
  ~ScopedFrame();
  ScopedFrame(const ScopedFrame&) = delete;
  ScopedFrame& operator=(const ScopedFrame&) = delete;

 private:
  ChainFrame frame_;
};

// The innermost frame of this thread; null when nothing runs.
ChainFrame* chain_top();

// The task that runs on this thread; null in a luv callback and in coroutines that such a callback resumed.
Task* current_task();

// The task whose root coroutine `L` is; null for every other state. Kept in Lua's extra space, which new
// coroutines copy from the main one: the main state's must stay null.
Task* task_of_root(lua_State* L);
void set_task_of_root(lua_State* L, Task* task);

}  // namespace panto

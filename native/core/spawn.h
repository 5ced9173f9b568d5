// Tasks that Lua starts: children of a task (panto.async.spawn) and tasks of an extension (ext.spawn).
//
// Lua holds a handle, which outlives the task and keeps its outcome: user value 1 is the table of returned
// values, or of the error; user value 2 the functions to call when it is done.
#pragma once

#include "core/task.h"
#include "lua.hpp"

namespace panto {

// Adds spawn, when_done, outcome and cancel to the table on top of the stack. Protected.
void open_spawn(lua_State* L);

// Inside the ending root: keeps its `count` top values in its handle. May raise on memory.
void keep_child_values(lua_State* L, Task* task, bool returned, int count);

// The task has settled: marks its handle, and calls who waits. Does not raise.
void finish_child(lua_State* L, const Task* task);

// Whether somebody has looked at the outcome, or will.
bool is_child_observed(lua_State* L, const Task* task);

}  // namespace panto

// Awaiting: a task gives up the thread until somebody calls its `resume`. See docs/concurrency.md,
// "Awaiting".
//
// A waiter is a userdata on the stack of the coroutine that waits (slot 2 of the C frame of await).
// Suspending yields the AWAIT mark; coroutine.resume and coroutine.wrap hand it outwards to the task's root,
// and the scheduler resumes the root without values: the values lie in the waiter.
#pragma once

#include <cstdint>

#include "core/unit.h"
#include "lua.hpp"

namespace panto {

struct SleepTimer;

struct Waiter {
  enum class State : uint8_t {
    kStarting,  // start() runs
    kWaiting,
    kReady,  // resumed; the values are in user value 1
    kDead,   // given up by a cancel
  };
  State state;
  Token task;         // 0: the coroutine belongs to no task
  lua_State* orphan;  // then: the outermost coroutine that waits, anchored in the registry under the waiter's
                      // address
  int owner;          // the extension that waits
                      // address
  SleepTimer* timer;  // of a sleep that has not ended; closed with the waiter
};

// Creates CANCEL, the waiter's metatable and the mark. Once per lua_State, protected.
void open_await(lua_State* L);

// Whether the value at `index` is the one that cancelling throws.
bool is_cancel(lua_State* L, int index);
void push_cancel(lua_State* L);

// Lua: await(start) -> …
int await(lua_State* L);

// For primitives in C (sleep): checks that the caller may wait, throws CANCEL where it is due, and pushes a
// waiter into slot 2 of a frame whose stack has exactly one value. Raises.
Waiter* begin_await(lua_State* L);
// Suspends on the waiter in slot 2; the return value of the C function.
int suspend_await(lua_State* L, Waiter* waiter);

// Marks a waiter as resumed, without values. Returns whether it was delivered.
bool deliver(Waiter* waiter);

// Whether the `count` values on top of `L` are the AWAIT mark that `co` has just yielded.
bool is_await_mark(lua_State* L, lua_State* co, int count);
void push_await_mark(lua_State* L);
// Called where the mark cannot go further out: `co` waits by itself from now on. May raise on memory.
void adopt_orphan(lua_State* L, lua_State* co);

// Whether `co` is suspended in an await, its own or one of a coroutine that it resumed.
bool waits_in_await(lua_State* co);

}  // namespace panto

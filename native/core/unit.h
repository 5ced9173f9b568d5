// A unit of execution: what can be stopped by itself. A task, the run of one luv callback, or the run of
// queued finalizers. Belongs to the Lua thread; the signal handler that reads and raises `phase` runs on that
// thread, too.
#pragma once

#include <cstdint>

#include "core/messages.h"
#include "lua.hpp"

namespace panto {

using UnitId = uint64_t;

// How a unit is being stopped. Only ever goes up.
enum class Phase : int {
  kNone,
  kSoft,  // CANCEL is thrown: at an await point, or once where code runs; cleaning up may wait
  kHard,  // closed: closers run to their end, but cannot wait
  kCut,   // closers that still run, or start, are ended, too
};

struct Task;

struct Unit {
  UnitId id = 0;
  UnitId root_id = 0;    // the outermost task that this one is a child of; its own id otherwise
  Task* task = nullptr;  // itself, when it is one
  int owner = 0;         // extension
  volatile int phase = static_cast<int>(Phase::kNone);
  volatile int reason = 0;     // CancelReason; valid from kSoft on
  bool cancel_thrown = false;  // running code has had its one CANCEL
  bool done = false;
  int shield = 0;                     // defers run: as in a closer
  lua_State* hook_yielded = nullptr;  // the state that the hook has suspended to have it closed
  uint64_t hard_at_ns = 0;            // 0: not cancelled
  uint64_t deadline_ns = 0;           // 0: none of its own
  uint64_t hold_limit_ns = 0;         // how long it may run without a suspension; 0: the runtime's

  bool at_least(Phase limit) const { return phase >= static_cast<int>(limit); }
};

}  // namespace panto

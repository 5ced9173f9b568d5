// A task: one tool call or control call, or a child that such a task has spawned. Lives on the Lua thread
// only; owned by the scheduler from its creation until it settles.
//
// Stages: body -> waits for its children -> defers -> settled. A hard stop ends it in any of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/messages.h"
#include "core/unit.h"
#include "lua.hpp"

namespace panto {

class Scheduler;
struct Batch;

// The error of a child that nobody has awaited so far.
struct OrphanedFailure {
  UnitId child;
  Failure failure;
};

struct Task : Unit {
  enum class Kind {
    kTool,        // a tool call: settles with an event
    kControl,     // a call of the TypeScript side: settles with an event
    kChild,       // panto.async.spawn: lives no longer than its parent
    kExtension,   // ext.spawn: an error is reported, nobody waits
    kFinalizers,  // the queued __gc
  };
  enum class State { kNew, kRunning, kAwaiting, kYielded };
  enum class Stage { kBody, kChildren, kDefers };

  Scheduler* scheduler;
  Kind kind;
  lua_State* root = nullptr;  // anchored by the scheduler while the task lives
  State state = State::kNew;
  Stage stage = Stage::kBody;
  bool is_ready = false;  // stands in the ready queue
  bool is_lost = false;   // nothing can resume it
  int first_args = 0;     // of the first resume
  std::optional<CancelReason> cancelled;
  UnitId parent = 0;
  std::vector<UnitId> children;  // those that have not settled

  std::shared_ptr<Batch> batch;  // of a tool call
  std::string call_id;
  std::string tool;
  double deadline_ms = 0;
  double started_ms = 0;
  std::string pending_update;  // JSON not yet sent
  uint64_t last_update = 0;    // loop time of the last one sent, in ms

  // The outcome, filled inside the root coroutine; sent when it has returned.
  bool failed = false;
  EventKind outcome = EventKind::kSettledError;
  std::string body;
  Failure failure;
  Failure defer_failure;  // of the defer that runs
  std::vector<OrphanedFailure> orphaned_failures;
  std::string stopped_at;  // "file:line" where it ran when it was stopped
};

// The body of every root coroutine. stack: function, arguments… Calls it protected, waits for its children,
// runs its defers, and leaves the outcome in the task.
int task_main(lua_State* L);

// Whether a root coroutine stands in task_main, between the body and the end.
int task_continue(lua_State* L, int status, lua_KContext context);

// Registers the function on top of the stack to run when the task ends; the last one first. Pops it. Returns
// its number.
int add_defer(lua_State* L, Task* task);
void remove_defer(lua_State* L, Task* task, int number);
// Pushes the last one that is left and forgets it; false when there is none.
bool pop_defer(lua_State* L, const Task* task);
void forget_defers(lua_State* L, const Task* task);

}  // namespace panto

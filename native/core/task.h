// A task: one tool call or control call inside the runtime. Lives on the Lua thread only; owned by the
// scheduler from its creation until it settles.
//
//   starting -> running <-> awaiting | yielded -> settled
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/errors.h"
#include "core/messages.h"
#include "lua.hpp"

namespace panto {

class Scheduler;
struct Batch;

struct Task {
  enum class Kind { kTool, kControl };
  enum class State { kRunning, kAwaiting, kYielded, kSettled };

  Scheduler* scheduler;
  Token token;
  Kind kind;
  int owner;                  // extension id
  lua_State* root = nullptr;  // anchored by the scheduler while the task lives
  State state = State::kRunning;
  bool is_ready = false;  // stands in the ready queue
  std::optional<CancelReason> cancelled;
  bool cancel_thrown = false;    // a task in a raw yield gets CANCEL when it is next resumed
  std::shared_ptr<Batch> batch;  // of a tool call
  std::string call_id;
  std::string tool;
  double deadline_ms = 0;
  double started_ms = 0;
  std::string pending_update;  // JSON not yet sent
  uint64_t last_update = 0;    // loop time of the last one sent, in ms

  // The outcome, filled inside the root coroutine; sent when it has returned.
  EventKind outcome = EventKind::kSettledError;
  std::string body;
  Failure failure;
};

// The body of every root coroutine. stack: function, arguments… Calls it protected, with closers that may
// yield, and leaves the outcome in the task.
int task_main(lua_State* L);

}  // namespace panto

#include "core/scheduler.h"

#include <uv.h>

#include <algorithm>

#include "core/chain.h"
#include "core/core_lib.h"
#include "core/coroutine_lib.h"
#include "core/interrupt.h"
#include "core/json.h"
#include "core/runtime.h"
#include "core/spawn.h"
#include "lua/continuation.h"

namespace panto {
namespace {

// Registry: id of a live task -> its root coroutine, or false while the task waits in an await: then it lives
// only as long as somebody can resume it. The key stays, so that changing the value allocates nothing.
const char kAnchorsKey = 0;
const char kToolsKey = 0;  // registry: tool name -> { handler, owner }

// A wake-up chain that never ends must not keep the loop from its timers and sockets.
constexpr int kMaxResumesPerPass = 4096;

// Between two partial results of one call (30 a second).
constexpr uint64_t kUpdateIntervalMs = 33;

constexpr uint64_t kNsPerMs = 1000000;

// How often tasks that nothing can resume are looked for, and how much the collector does then.
constexpr uint64_t kLostCheckMs = 200;
constexpr int kLostCheckStepKb = 256;

// So many finalizers at the most in one go; the others wait for the next pass.
constexpr int kFinalizersPerTask = 64;
constexpr uint64_t kFinalizersHoldNs = 100 * kNsPerMs;

struct Creation {
  Scheduler* scheduler;
  Task* task;
  yyjson_val* input;
  const std::string* function;  // of a control call
  bool found = false;
};

// Not that it was cancelled, which is no news to those who did it.
bool has_error_of_its_own(const Task* task) {
  bool by_limit = task->cancelled == CancelReason::kHeld || task->cancelled == CancelReason::kMemory;
  return task->failed && (!task->cancelled || by_limit);
}

// Creates the root coroutine and anchors it. stack: +1 (the coroutine)
lua_State* new_root(lua_State* L, Task* task) {
  lua_State* root = lua_newthread(L);
  Scheduler::anchor(L, task->id, -1);
  lua_pushcfunction(root, task_main);
  return root;
}

// Protected. stack: Creation
int create_call(lua_State* L) {
  auto* creation = static_cast<Creation*>(lua_touserdata(L, 1));
  Task* task = creation->task;
  Scheduler::push_tools(L);
  lua_pushlstring(L, task->tool.data(), task->tool.size());
  if (lua_rawget(L, -2) != LUA_TTABLE) return 0;
  creation->found = true;
  lua_getfield(L, -1, "owner");
  task->owner = static_cast<int>(lua_tointeger(L, -1));
  lua_State* root = new_root(L, task);
  lua_getfield(L, -3, "handler");
  push_json(L, creation->input);
  push_call_object(L, task->id, task->call_id, task->tool);
  lua_xmove(L, root, 3);
  task->root = root;
  task->first_args = 3;
  return 0;
}

// Protected. stack: Creation
int create_control(lua_State* L) {
  auto* creation = static_cast<Creation*>(lua_touserdata(L, 1));
  Task* task = creation->task;
  push_control_function(L, *creation->function);
  if (!lua_isfunction(L, -1)) return 0;
  creation->found = true;
  lua_State* root = new_root(L, task);
  lua_pushvalue(L, -2);
  push_json(L, creation->input);
  lua_xmove(L, root, 2);
  task->root = root;
  task->first_args = 2;
  return 0;
}

// The key is there, so nothing is allocated and nothing can raise: tasks end below coroutine.resume, too.
void release_anchor(lua_State* L, UnitId id) {
  if (!lua_checkstack(L, 2)) return;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kAnchorsKey);
  lua_pushnil(L);
  lua_rawseti(L, -2, static_cast<lua_Integer>(id));
  lua_pop(L, 1);
}

// Closes the coroutines that stand in an await from the inside out. Protected: a __close may raise. stack:
// root
int close_chain(lua_State* L) {
  lua_State* root = lua_tothread(L, 1);
  if (panto_continuation(root) == coroutine_resumed) {
    lua_State* inner = lua_tothread(root, 1);
    lua_pushcfunction(L, close_chain);
    lua_pushthread(inner);
    lua_xmove(inner, L, 1);
    lua_call(L, 1, 0);
  }
  lua_closethread(root, L);
  return 0;
}

struct Closing {
  Task* task;
  lua_State* root;
};

int run_defers(lua_State* L, const Task* task) {
  while (!task->at_least(Phase::kCut) && pop_defer(L, task)) {
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_pop(L, 1);
  }
  return 0;
}

// Closes a suspended task for good: its coroutines from the inside out, then its defers. Protected, under a
// frame of the task.
int close_for_good(lua_State* L) {
  auto* closing = static_cast<Closing*>(lua_touserdata(L, 1));
  lua_pushcfunction(L, close_chain);
  lua_pushthread(closing->root);
  lua_xmove(closing->root, L, 1);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  return run_defers(L, closing->task);
}

// Calls queued finalizers, each protected. stack: queue (a thread), how many
int call_finalizers(lua_State* L, int, lua_KContext) {
  lua_State* queue = lua_tothread(L, 1);
  // One that had to be stopped is the last one of its task: the next one gets the whole time.
  while (!current_task()->cancelled && lua_tointeger(L, 2) > 0 && lua_gettop(queue) >= 2) {
    lua_pushinteger(L, lua_tointeger(L, 2) - 1);
    lua_replace(L, 2);
    lua_settop(L, 2);
    lua_checkstack(queue, 2);
    lua_pushvalue(queue, 1);
    lua_pushvalue(queue, 2);
    lua_xmove(queue, L, 2);
    lua_remove(queue, 1);
    lua_remove(queue, 1);
    // As Lua does: an error of a finalizer is a warning.
    if (lua_pcallk(L, 1, 0, 0, 0, call_finalizers) != LUA_OK) {
      lua_warning(L, "error in __gc", 0);
    }
  }
  return 0;
}

int finalizers_main(lua_State* L) {
  return call_finalizers(L, LUA_OK, 0);
}

}  // namespace

Scheduler::Scheduler(Runtime* runtime, lua_State* L) : runtime_(runtime), L_(L) {}

void Scheduler::open() {
  lua_newtable(L_);
  lua_rawsetp(L_, LUA_REGISTRYINDEX, &kAnchorsKey);
  lua_newtable(L_);
  lua_rawsetp(L_, LUA_REGISTRYINDEX, &kToolsKey);
}

void Scheduler::anchor(lua_State* L, UnitId id, int index) {
  lua_pushvalue(L, index);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kAnchorsKey);
  lua_insert(L, -2);
  lua_rawseti(L, -2, static_cast<lua_Integer>(id));
  lua_pop(L, 1);
}

void Scheduler::push_tools(lua_State* L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kToolsKey);
}

Task* Scheduler::find(UnitId id) {
  auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : found->second.get();
}

Task* Scheduler::adopt(std::unique_ptr<Task> task) {
  Task* raw = task.get();
  raw->scheduler = this;
  raw->task = raw;
  tasks_[raw->id] = std::move(task);
  return raw;
}

void Scheduler::start_batch(InvokeBatch request) {
  auto batch = std::make_shared<Batch>();
  batch->calls = std::move(request.calls);
  batch->serial = request.serial;
  if (batch->serial) {
    for (const CallSpec& call : batch->calls) queued_.emplace(call.token, std::nullopt);
  }
  start_next(batch);
}

// Starts every call that may run now: all of them, or the next one of a serial batch.
void Scheduler::start_next(const std::shared_ptr<Batch>& batch) {
  while (batch->next < batch->calls.size()) {
    CallSpec call = std::move(batch->calls[batch->next++]);
    start_call(batch, call);
    if (batch->serial) return;  // settle() goes on
  }
}

void Scheduler::start_call(const std::shared_ptr<Batch>& batch, const CallSpec& call) {
  auto owned = std::make_unique<Task>();
  owned->id = call.token;
  owned->root_id = call.token;
  owned->kind = Task::Kind::kTool;
  owned->batch = batch;
  owned->call_id = call.call_id;
  owned->tool = call.tool;
  owned->deadline_ms = call.deadline_ms;
  Task* task = adopt(std::move(owned));
  task->started_ms = runtime_->now_ms();
  auto queued = queued_.find(call.token);
  if (queued != queued_.end()) {
    task->cancelled = queued->second;
    queued_.erase(queued);
    if (task->cancelled) {
      refuse(task, "cancelled", "cancelled");
      return;
    }
  }

  JsonDocument input;
  std::string error;
  if (!input.parse(call.input, "input", &error)) {
    refuse(task, "invalid_input", error);
    return;
  }
  Creation creation{this, task, input.root(), nullptr};
  lua_pushcfunction(L_, create_call);
  lua_pushlightuserdata(L_, &creation);
  int status = lua_pcall(L_, 1, 0, 0);
  if (status != LUA_OK) {
    lua_pop(L_, 1);
    refuse(task, "out_of_memory", "not enough memory to start the call");
  } else if (!creation.found) {
    refuse(task, "unknown_tool", "no Lua tool is named " + task->tool);
  } else {
    begin(task);
  }
}

void Scheduler::start_control(const ControlCall& request) {
  auto owned = std::make_unique<Task>();
  owned->id = request.token;
  owned->root_id = request.token;
  owned->kind = Task::Kind::kControl;
  owned->owner = request.owner;
  Task* task = adopt(std::move(owned));
  task->started_ms = runtime_->now_ms();

  JsonDocument arguments;
  Creation creation{this, task, nullptr, &request.name};
  std::string error;
  if (!arguments.parse(request.arguments, "arguments", &error)) {
    refuse(task, "failed", error);
    return;
  }
  creation.input = arguments.root();
  lua_pushcfunction(L_, create_control);
  lua_pushlightuserdata(L_, &creation);
  int status = lua_pcall(L_, 1, 0, 0);
  if (status != LUA_OK) {
    lua_pop(L_, 1);
    refuse(task, "out_of_memory", "not enough memory");
  } else if (!creation.found) {
    refuse(task, "failed", "no control function is named " + request.name);
  } else {
    begin(task);
  }
}

// The first resume of a call. One that has not settled then reports that its handler has begun.
void Scheduler::begin(Task* task) {
  UnitId id = task->id;
  double started = task->started_ms;
  bool is_call = task->kind == Task::Kind::kTool;
  set_task_of_root(task->root, task);
  resume(task);
  if (is_call && find(id) != nullptr) {
    Event event{EventKind::kStarted, id};
    event.started_ms = started;
    runtime_->send_event(std::move(event));
  }
}

void Scheduler::add_spawned(UnitId id, lua_State* root, int args, Task* parent, int owner,
                            uint64_t deadline_ns) {
  auto owned = std::make_unique<Task>();
  owned->id = id;
  owned->kind = parent != nullptr ? Task::Kind::kChild : Task::Kind::kExtension;
  owned->owner = owner;
  owned->root_id = parent != nullptr ? parent->root_id : id;
  owned->parent = parent != nullptr ? parent->id : 0;
  owned->deadline_ns = deadline_ns;
  owned->root = root;
  owned->first_args = args;
  Task* task = adopt(std::move(owned));
  if (parent != nullptr) parent->children.push_back(id);
  set_task_of_root(root, task);
  make_ready(task);
}

void Scheduler::run_finalizers(lua_State* queue) {
  if (lua_gettop(queue) < 2 || find(finalizers_) != nullptr || !lua_checkstack(L_, 4)) return;
  auto owned = std::make_unique<Task>();
  owned->id = next_id();
  owned->root_id = owned->id;
  owned->kind = Task::Kind::kFinalizers;
  owned->hold_limit_ns = kFinalizersHoldNs;
  Task* task = adopt(std::move(owned));
  finalizers_ = task->id;
  Creation creation{this, task, nullptr, nullptr};
  lua_pushcfunction(L_, [](lua_State* L) {
    auto* given = static_cast<Creation*>(lua_touserdata(L, 1));
    lua_State* root = new_root(L, given->task);  // stack: Creation, queue, root
    lua_pushcfunction(L, finalizers_main);
    lua_pushvalue(L, 2);
    lua_pushinteger(L, kFinalizersPerTask);
    lua_xmove(L, root, 3);
    given->task->root = root;
    given->task->first_args = 3;
    return 0;
  });
  lua_pushlightuserdata(L_, &creation);
  lua_pushthread(queue);
  lua_xmove(queue, L_, 1);
  if (lua_pcall(L_, 2, 0, 0) != LUA_OK) {
    lua_pop(L_, 1);
    tasks_.erase(task->id);
    return;
  }
  set_task_of_root(task->root, task);
  make_ready(task);
}

void Scheduler::resume(Task* task) {
  runs_++;
  lua_State* root = task->root;
  UnitId id = task->id;
  if (task->state == Task::State::kNew && task->cancelled) {
    refuse(task, "cancelled", "cancelled");  // before it could begin
    return;
  }
  int args = task->state == Task::State::kNew ? task->first_args : 0;
  // A task in a raw yield gets its CANCEL from the hook, at its first instruction.
  bool raw = task->state == Task::State::kYielded;
  if (raw && task->cancelled && !task->at_least(Phase::kSoft)) {
    task->reason = static_cast<int>(*task->cancelled);
    task->phase = static_cast<int>(Phase::kSoft);
  }
  task->state = Task::State::kRunning;
  int count = 0;
  int status = lua_resume(root, L_, args, &count);  // root_returned() is called in there
  if (status == LUA_YIELD && find(id) != nullptr) lua_pop(root, count);
}

void Scheduler::root_returned(Task* task, int status, int nresults) {
  if (status == LUA_YIELD) {
    bool awaits = is_await_mark(task->root, task->root, nresults);
    task->state = awaits ? Task::State::kAwaiting : Task::State::kYielded;
    // One that waits for its children is held by them, one in a raw yield by nobody that we know.
    if (awaits && task->stage == Task::Stage::kBody) set_anchor(task, false);
    if (!looking_for_lost_) look_for_lost();
    return;
  }
  if (status != LUA_OK) {
    task->failed = true;
    task->outcome = EventKind::kSettledError;
    if (task->failure.message.empty() && !task->at_least(Phase::kHard)) {
      // task_main itself failed: it could not keep the outcome.
      const char* text =
          lua_type(task->root, -1) == LUA_TSTRING ? lua_tostring(task->root, -1) : "the task failed";
      task->failure.message = text;
    }
    if (task->at_least(Phase::kHard)) {
      // Ended by the hook while it ran: what it leaves is still to be closed.
      if (!task->cancelled) task->cancelled = static_cast<CancelReason>(task->reason);
      for (UnitId child : std::vector<UnitId>(task->children)) close_task(child);
      run_defers_after_kill(task);
    }
  }
  settle(task);
}

void Scheduler::run_defers_after_kill(Task* task) {
  if (!lua_checkstack(L_, 4)) return;
  ScopedFrame frame(L_, task);
  task->shield++;  // before the call, which is an event of the hook
  arm_if_stopping(L_, task);
  lua_pushcfunction(L_, [](lua_State* L) { return run_defers(L, static_cast<Task*>(lua_touserdata(L, 1))); });
  lua_pushlightuserdata(L_, task);
  if (lua_pcall(L_, 1, 0, 0) != LUA_OK) lua_pop(L_, 1);
  forget_defers(L_, task);
  disarm(L_);
}

// A task that never ran.
void Scheduler::refuse(Task* task, const char* kind, const std::string& message) {
  task->failed = true;
  task->failure = Failure{kind, message, {}, {}};
  settle(task);
}

// The one place where a task ends.
void Scheduler::settle(Task* task) {
  task->done = true;
  if (task->cancelled) runtime_->watchdog().forget(task->id);
  if (task->root != nullptr) {
    set_task_of_root(task->root, nullptr);
    release_anchor(L_, task->id);
  }
  send_outcome(task);
  leave_parent(task);
  std::shared_ptr<Batch> batch = std::move(task->batch);
  tasks_.erase(task->id);
  if (batch != nullptr && batch->serial) {
    // Not from inside the ending coroutine: the next call starts on the next pass.
    runtime_->defer([this, batch] { start_next(batch); });
  }
}

void Scheduler::send_outcome(Task* task) {
  // A task may swallow CANCEL and return as if nothing had been.
  if (task->cancelled && task->cancel_thrown) task->failed = true;
  if (task->failed) describe_stop(task);
  switch (task->kind) {
    case Task::Kind::kFinalizers:
      if (task->failed) runtime_->report(task->failure, task->owner);
      return;
    case Task::Kind::kExtension:
      if (has_error_of_its_own(task) && !is_child_observed(L_, task))
        runtime_->report(task->failure, task->owner);
      finish_child(L_, task);
      return;
    case Task::Kind::kChild:
      return;  // leave_parent() tells
    case Task::Kind::kTool:
    case Task::Kind::kControl:
      break;
  }
  if (!task->pending_update.empty()) {
    runtime_->send_event(Event{EventKind::kUpdate, task->id, {}, std::move(task->pending_update)});
  }
  Event event{task->failed ? EventKind::kSettledError : task->outcome, task->id};
  event.body = task->failed ? failure_json(task->failure, {}) : std::move(task->body);
  event.started_ms = task->started_ms;
  event.ended_ms = runtime_->now_ms();
  runtime_->send_event(std::move(event));
}

// What was decided, not the value that came out.
void Scheduler::describe_stop(Task* task) {
  Failure& failure = task->failure;
  if (!task->cancelled) {
    // It has thrown on what it caught, or awaited somebody who was cancelled.
    if (failure.kind == "cancelled")
      failure.kind = "failed", failure.message = "what it awaited was cancelled";
    return;
  }
  bool says_nothing = failure.message.empty() || failure.message == "cancelled";
  switch (*task->cancelled) {
    case CancelReason::kCancelled:
      failure.kind = "cancelled";
      if (says_nothing) failure.message = "cancelled";
      break;
    case CancelReason::kTimeout:
      failure.kind = "timeout";
      if (says_nothing) failure.message = "timeout";
      break;
    case CancelReason::kHeld:
      failure.kind = "timeout";
      failure.message = "stopped: it ran for more than " + runtime_->hold_limit_text() +
                        " without yielding (lua.hold_limit)";
      break;
    case CancelReason::kMemory:
      failure.kind = "out_of_memory";
      if (says_nothing)
        failure.message =
            "stopped: it had taken the most memory when the limit was reached (lua.memory_limit)";
      break;
  }
  bool ran_too_long = task->cancelled == CancelReason::kHeld;
  if (!task->stopped_at.empty() && (failure.where.empty() || ran_too_long)) {
    const std::string& name = runtime_->extension(task->owner).name;
    failure.where = name.empty() ? task->stopped_at : name + " " + task->stopped_at;
  }
}

// The parent hears of the end of its child, and takes over the error of one that nobody awaited.
void Scheduler::leave_parent(const Task* task) {
  if (task->kind != Task::Kind::kChild) return;
  bool observed = is_child_observed(L_, task);
  finish_child(L_, task);
  Task* parent = find(task->parent);
  if (parent == nullptr) return;
  auto& children = parent->children;
  children.erase(std::remove(children.begin(), children.end(), task->id), children.end());
  if (has_error_of_its_own(task) && !observed && !parent->failed && !parent->cancelled) {
    parent->orphaned_failures.push_back(OrphanedFailure{task->id, task->failure});
    if (parent->stage == Task::Stage::kChildren) cancel_children(parent);
  }
  bool waits_for_children = parent->stage == Task::Stage::kChildren || parent->cancelled;
  if (children.empty() && waits_for_children && parent->state != Task::State::kRunning) make_ready(parent);
}

void Scheduler::make_ready(Task* task) {
  if (task->is_ready) return;
  task->is_ready = true;
  set_anchor(task, true);
  ready_.push_back(Ready{task->id, nullptr, 0});
}

void Scheduler::make_ready(lua_State* orphan, int owner) {
  ready_.push_back(Ready{0, orphan, owner});
}

void Scheduler::set_anchor(const Task* task, bool alive) {
  if (!lua_checkstack(L_, 2)) return;
  lua_rawgetp(L_, LUA_REGISTRYINDEX, &kAnchorsKey);
  if (alive) {
    lua_pushthread(task->root);
    lua_xmove(task->root, L_, 1);
  } else {
    lua_pushboolean(L_, 0);
  }
  lua_rawseti(L_, -2, static_cast<lua_Integer>(task->id));
  lua_pop(L_, 1);
}

void Scheduler::run_ready() {
  if (running_ready_ || chain_top() != nullptr || runtime_->closing()) return;
  running_ready_ = true;
  for (int i = 0; i < kMaxResumesPerPass && !ready_.empty(); i++) {
    Ready next = ready_.front();
    ready_.pop_front();
    if (next.task == 0) {
      resume_orphan(next.orphan, next.owner);
      continue;
    }
    Task* task = find(next.task);
    if (task == nullptr) continue;
    task->is_ready = false;
    resume(task);
  }
  running_ready_ = false;
  runtime_->note_finalizers();
}

void Scheduler::resume_orphan(lua_State* orphan, int owner) {
  if (!lua_checkstack(L_, 2)) return;
  lua_pushthread(orphan);
  lua_xmove(orphan, L_, 1);  // keeps it alive while it runs
  int outer_owner = runtime_->callback_owner;
  runtime_->callback_owner = owner;
  Unit unit;
  unit.id = unit.root_id = next_id();
  unit.owner = owner;
  int count = 0;
  int status = LUA_OK;
  {
    ScopedFrame frame(L_, &unit);
    status = lua_resume(orphan, L_, 0, &count);
  }
  if (status == LUA_YIELD && is_await_mark(orphan, orphan, count)) {
    lua_pop(orphan, count);
    suspending->orphan = orphan;
    lua_pushvalue(L_, -1);
    lua_rawsetp(L_, LUA_REGISTRYINDEX, suspending);
  } else if (status == LUA_YIELD) {
    lua_pop(orphan, count);
  } else if (status != LUA_OK) {
    runtime_->report_orphan(orphan, unit);
  }
  lua_pop(L_, 1);
  runtime_->callback_owner = outer_owner;
}

// ---- tasks that nothing can resume ----

// Whether something outside could still wake a suspended task: a sleep, a question to the host, or anything
// that luv has open.
bool Scheduler::can_be_woken() {
  if (sleeping > 0 || asking > 0 || !ready_.empty()) return true;
  uv_loop_t* loop = runtime_->loop();
  if (loop->active_reqs.count > 0) return true;
  bool found = false;
  uv_walk(
      loop,
      [](uv_handle_t* handle, void* out) {
        if (uv_is_active(handle) && uv_has_ref(handle) && !Runtime::current()->is_own_handle(handle))
          *static_cast<bool*>(out) = true;
      },
      &found);
  return found;
}

// Repeats itself while tasks are suspended. Whatever still holds a `resume` may be reached by the next call
// or command, so a task that awaits is lost only when the collector says so; it is helped along after every
// run. One in a raw yield is taken for lost when the loop has nothing open.
void Scheduler::look_for_lost() {
  looking_for_lost_ = true;
  runtime_->after(kLostCheckMs, [this] {
    looking_for_lost_ = false;
    bool quiet = !can_be_woken();
    if (quiet) {
      std::vector<UnitId> yielded;
      for (auto& [id, task] : tasks_) {
        if (task->state == Task::State::kYielded && !task->is_ready) yielded.push_back(id);
      }
      for (UnitId id : yielded) close_lost(id);
    }
    if (collected_runs_ != runs_ && !tasks_.empty()) {
      uint64_t runs = runs_;
      // Twice: what the first one finalizes may have held others.
      bool whole = quiet ? (lua_gc(L_, LUA_GCCOLLECT), lua_gc(L_, LUA_GCCOLLECT), true)
                         : lua_gc(L_, LUA_GCSTEP, kLostCheckStepKb) != 0 && ++quiet_cycles_ > 1;
      if (whole) {
        collected_runs_ = runs;
        quiet_cycles_ = 0;
      }
    }
    if (!tasks_.empty() && !looking_for_lost_) look_for_lost();
  });
}

// Inside the collector: only notes it. The coroutine is whole until the next cycle.
void Scheduler::note_lost(UnitId id) {
  Task* task = find(id);
  if (task == nullptr || task->is_ready || task->state == Task::State::kRunning) return;
  set_anchor(task, true);
  runtime_->defer([this, id] { close_lost(id); });
}

void Scheduler::close_lost(UnitId id) {
  Task* task = find(id);
  if (task == nullptr || task->is_ready || task->cancelled) return;
  task->failed = true;
  task->failure.message = "nothing can resume this task: it waits for something that will not come";
  describe_place(task->root, runtime_->extension(task->owner), &task->failure);
  task->is_lost = true;
  close_task(id);
}

void Scheduler::cancel(const CancelTask& request) {
  auto queued = queued_.find(request.token);
  if (queued != queued_.end() && !queued->second) queued->second = request.reason;
  Task* task = find(request.token);
  if (task == nullptr || task->cancelled) return;
  task->cancelled = request.reason;
  task->hard_at_ns = uv_hrtime() + runtime_->options().grace_ms * kNsPerMs;
  runtime_->after(runtime_->options().grace_ms, [this, id = task->id] { close_task(id); });
  // From the inside out: children first, then the task itself.
  cancel_children(task);
  if (task->children.empty() && task->state != Task::State::kRunning) make_ready(task);
}

void Scheduler::cancel_children(Task* task) {
  for (UnitId child : std::vector<UnitId>(task->children)) {
    cancel(CancelTask{child, task->cancelled.value_or(CancelReason::kCancelled)});
  }
}

void Scheduler::note_cancelled(Unit* unit, CancelReason reason) {
  Task* task = unit->task;
  if (task == nullptr) return;
  if (!task->cancelled) {
    task->cancelled = reason;
    task->hard_at_ns = uv_hrtime() + runtime_->options().grace_ms * kNsPerMs;
    runtime_->after(runtime_->options().grace_ms, [this, id = task->id] { close_task(id); });
    cancel_children(task);
  }
  runtime_->watchdog().publish(unit);
}

// The end of the grace: the task is suspended (nothing runs while the loop turns), so it is closed from the
// inside out.
void Scheduler::close_task(UnitId id) {
  Task* task = find(id);
  if (task == nullptr || task->state == Task::State::kRunning) return;
  if (!task->cancelled && !task->is_lost) task->cancelled = CancelReason::kCancelled;
  for (UnitId child : std::vector<UnitId>(task->children)) close_task(child);
  task = find(id);
  if (task == nullptr) return;
  task->phase = static_cast<int>(Phase::kHard);
  task->hard_at_ns = uv_hrtime();
  set_task_of_root(task->root, nullptr);  // its end is told below
  if (lua_checkstack(L_, 4)) {
    ScopedFrame frame(L_, task);
    task->shield++;  // all that runs from here on cleans up
    Closing closing{task, task->root};
    lua_pushcfunction(L_, close_for_good);
    lua_pushlightuserdata(L_, &closing);
    if (lua_pcall(L_, 1, 0, 0) != LUA_OK) lua_pop(L_, 1);
    forget_defers(L_, task);
    disarm(L_);
  }
  task->failed = true;
  settle(task);
}

void Scheduler::report_defer_failure(Task* task) {
  runtime_->report(task->defer_failure, task->owner);
}

void Scheduler::update(Task* task, std::string json) {
  uint64_t now = uv_now(runtime_->loop());
  if (now - task->last_update >= kUpdateIntervalMs) {
    task->last_update = now;
    task->pending_update.clear();
    runtime_->send_event(Event{EventKind::kUpdate, task->id, {}, std::move(json)});
    return;
  }
  bool first = task->pending_update.empty();
  task->pending_update = std::move(json);
  if (!first) return;
  runtime_->after(kUpdateIntervalMs - (now - task->last_update), [this, id = task->id] {
    Task* later = find(id);
    if (later == nullptr || later->pending_update.empty()) return;
    later->last_update = uv_now(runtime_->loop());
    runtime_->send_event(Event{EventKind::kUpdate, id, {}, std::move(later->pending_update)});
    later->pending_update.clear();
  });
}

}  // namespace panto

#include "core/scheduler.h"

#include "core/chain.h"
#include "core/core_lib.h"
#include "core/coroutine_lib.h"
#include "core/json.h"
#include "core/runtime.h"
#include "lua/continuation.h"

namespace panto {
namespace {

const char kAnchorsKey = 0;  // registry: token -> root coroutine
const char kToolsKey = 0;    // registry: tool name -> { handler, owner }

// A wake-up chain that never ends must not keep the loop from its timers and sockets.
constexpr int kMaxResumesPerPass = 4096;

// Between two partial results of one call (30 a second).
constexpr uint64_t kUpdateIntervalMs = 33;

// After a cancel is thrown the task has this long to clean up; then it is closed.
constexpr uint64_t kCancelGraceMs = 500;

struct Creation {
  Scheduler* scheduler;
  Task* task;
  yyjson_val* input;
  const std::string* function;  // of a control call
  bool found = false;
};

// Creates the root coroutine and anchors it. stack: +1 (the coroutine)
lua_State* new_root(lua_State* L, Task* task) {
  lua_State* root = lua_newthread(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kAnchorsKey);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, static_cast<lua_Integer>(task->token));
  lua_pop(L, 1);
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
  push_call_object(L, task->token, task->call_id, task->tool);
  lua_xmove(L, root, 3);
  task->root = root;
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
  return 0;
}

// The key is there, so nothing is allocated and nothing can raise: tasks end below coroutine.resume, too.
void release_anchor(lua_State* L, Token token) {
  if (!lua_checkstack(L, 2)) return;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kAnchorsKey);
  lua_pushnil(L);
  lua_rawseti(L, -2, static_cast<lua_Integer>(token));
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

}  // namespace

Scheduler::Scheduler(Runtime* runtime, lua_State* L) : runtime_(runtime), L_(L) {}

void Scheduler::open() {
  lua_newtable(L_);
  lua_rawsetp(L_, LUA_REGISTRYINDEX, &kAnchorsKey);
  lua_newtable(L_);
  lua_rawsetp(L_, LUA_REGISTRYINDEX, &kToolsKey);
}

void Scheduler::push_tools(lua_State* L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kToolsKey);
}

Task* Scheduler::find(Token token) {
  auto found = tasks_.find(token);
  return found == tasks_.end() ? nullptr : found->second.get();
}

Task* Scheduler::adopt(std::unique_ptr<Task> task) {
  Task* raw = task.get();
  raw->scheduler = this;
  tasks_[raw->token] = std::move(task);
  return raw;
}

void Scheduler::start_batch(InvokeBatch request) {
  auto batch = std::make_shared<Batch>();
  batch->calls = std::move(request.calls);
  batch->serial = request.serial;
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
  owned->token = call.token;
  owned->kind = Task::Kind::kTool;
  owned->owner = 0;
  owned->batch = batch;
  owned->call_id = call.call_id;
  owned->tool = call.tool;
  owned->deadline_ms = call.deadline_ms;
  Task* task = adopt(std::move(owned));
  task->started_ms = runtime_->now_ms();

  JsonDocument input;
  if (!input.parse(call.input, "input", &task->failure.message)) {
    task->failure.kind = "invalid_input";
    settle(task);
    return;
  }
  Creation creation{this, task, input.root(), nullptr};
  lua_pushcfunction(L_, create_call);
  lua_pushlightuserdata(L_, &creation);
  int status = lua_pcall(L_, 1, 0, 0);
  if (status != LUA_OK) {
    lua_pop(L_, 1);
    task->failure = Failure{"out_of_memory", "not enough memory to start the call", {}, {}};
    settle(task);
  } else if (!creation.found) {
    task->failure = Failure{"unknown_tool", "no Lua tool is named " + task->tool, {}, {}};
    settle(task);
  } else {
    begin(task);
  }
}

void Scheduler::start_control(const ControlCall& request) {
  auto owned = std::make_unique<Task>();
  owned->token = request.token;
  owned->kind = Task::Kind::kControl;
  owned->owner = request.owner;
  Task* task = adopt(std::move(owned));
  task->started_ms = runtime_->now_ms();

  JsonDocument arguments;
  Creation creation{this, task, nullptr, &request.name};
  if (!arguments.parse(request.arguments, "arguments", &task->failure.message)) {
    settle(task);
    return;
  }
  creation.input = arguments.root();
  lua_pushcfunction(L_, create_control);
  lua_pushlightuserdata(L_, &creation);
  int status = lua_pcall(L_, 1, 0, 0);
  if (status != LUA_OK) {
    lua_pop(L_, 1);
    task->failure = Failure{"out_of_memory", "not enough memory", {}, {}};
    settle(task);
  } else if (!creation.found) {
    task->failure.message = "no control function is named " + request.name;
    settle(task);
  } else {
    begin(task);
  }
}

// The first resume. A task that has not settled then reports that its handler has begun.
void Scheduler::begin(Task* task) {
  Token token = task->token;
  double started = task->started_ms;
  bool is_call = task->kind == Task::Kind::kTool;
  set_task_of_root(task->root, task);
  resume(task, lua_gettop(task->root) - 1);
  if (is_call && find(token) != nullptr) {
    Event event{EventKind::kStarted, token, {}, {}};
    event.started_ms = started;
    runtime_->send_event(std::move(event));
  }
}

void Scheduler::resume(Task* task, int nargs) {
  lua_State* root = task->root;
  Token token = task->token;
  task->state = Task::State::kRunning;
  int count = 0;
  int status = lua_resume(root, L_, nargs, &count);  // root_returned() is called in there
  if (status == LUA_YIELD && find(token) != nullptr) lua_pop(root, count);
}

void Scheduler::root_returned(Task* task, int status, int nresults) {
  if (status == LUA_YIELD) {
    bool awaits = is_await_mark(task->root, task->root, nresults);
    task->state = awaits ? Task::State::kAwaiting : Task::State::kYielded;
    return;
  }
  if (status != LUA_OK && task->failure.message.empty()) {
    // task_main itself failed: it could not keep the outcome.
    const char* text =
        lua_type(task->root, -1) == LUA_TSTRING ? lua_tostring(task->root, -1) : "the task failed";
    task->failure.message = text;
    task->outcome = EventKind::kSettledError;
  }
  settle(task);
}

// Sends the outcome and forgets the task. The one place where a call ends.
void Scheduler::settle(Task* task) {
  if (task->cancelled && task->outcome == EventKind::kSettledError) {
    // What was decided, not what came out.
    bool timeout = *task->cancelled == CancelReason::kTimeout;
    task->failure.kind = timeout ? "timeout" : "cancelled";
    if (task->failure.message.empty() || task->failure.message == "cancelled")
      task->failure.message = task->failure.kind;
  }
  if (!task->pending_update.empty()) {
    runtime_->send_event(Event{EventKind::kUpdate, task->token, {}, std::move(task->pending_update)});
  }
  Event event{task->outcome, task->token, {}, {}};
  event.body =
      task->outcome == EventKind::kSettledError ? failure_json(task->failure, {}) : std::move(task->body);
  event.started_ms = task->started_ms;
  event.ended_ms = runtime_->now_ms();

  std::shared_ptr<Batch> batch = std::move(task->batch);
  if (task->root != nullptr) {
    set_task_of_root(task->root, nullptr);
    release_anchor(L_, task->token);
  }
  tasks_.erase(task->token);
  runtime_->send_event(std::move(event));
  if (batch != nullptr && batch->serial) {
    // Not from inside the ending coroutine: the next call starts on the next pass.
    runtime_->defer([this, batch] { start_next(batch); });
  }
}

void Scheduler::make_ready(Task* task) {
  if (task->is_ready) return;
  task->is_ready = true;
  ready_.push_back(Ready{task->token, nullptr});
}

void Scheduler::make_ready(lua_State* orphan) {
  ready_.push_back(Ready{0, orphan});
}

void Scheduler::run_ready() {
  if (running_ready_ || chain_top() != nullptr || runtime_->closing()) return;
  running_ready_ = true;
  for (int i = 0; i < kMaxResumesPerPass && !ready_.empty(); i++) {
    Ready next = ready_.front();
    ready_.pop_front();
    if (next.task == 0) {
      resume_orphan(next.orphan);
      continue;
    }
    Task* task = find(next.task);
    if (task == nullptr) continue;
    task->is_ready = false;
    resume(task, 0);
  }
  running_ready_ = false;
}

void Scheduler::resume_orphan(lua_State* orphan) {
  if (!lua_checkstack(L_, 2)) return;
  lua_pushthread(orphan);
  lua_xmove(orphan, L_, 1);  // keeps it alive while it runs
  int count = 0;
  int status = lua_resume(orphan, L_, 0, &count);
  if (status == LUA_YIELD && is_await_mark(orphan, orphan, count)) {
    lua_pop(orphan, count);
    suspending->orphan = orphan;
    lua_pushvalue(L_, -1);
    lua_rawsetp(L_, LUA_REGISTRYINDEX, suspending);
  } else if (status == LUA_YIELD) {
    lua_pop(orphan, count);
  } else if (status != LUA_OK) {
    runtime_->report_orphan(orphan);
  }
  lua_pop(L_, 1);
}

void Scheduler::cancel(const CancelTask& request) {
  Task* task = find(request.token);
  if (task == nullptr || task->cancelled) return;
  task->cancelled = request.reason;
  runtime_->after(kCancelGraceMs, [this, token = request.token] { close_task(token); });
  if (task->state == Task::State::kAwaiting) make_ready(task);
}

// The end of the grace: the task is suspended (nothing runs while the loop turns), so its coroutines are
// closed from the inside out.
void Scheduler::close_task(Token token) {
  Task* task = find(token);
  if (task == nullptr) return;
  lua_pushcfunction(L_, close_chain);
  lua_pushthread(task->root);
  lua_xmove(task->root, L_, 1);
  set_task_of_root(task->root, nullptr);
  if (lua_pcall(L_, 1, 0, 0) != LUA_OK) lua_pop(L_, 1);
  task->outcome = EventKind::kSettledError;
  settle(task);
}

void Scheduler::update(Task* task, std::string json) {
  uint64_t now = uv_now(runtime_->loop());
  if (now - task->last_update >= kUpdateIntervalMs) {
    task->last_update = now;
    task->pending_update.clear();
    runtime_->send_event(Event{EventKind::kUpdate, task->token, {}, std::move(json)});
    return;
  }
  bool first = task->pending_update.empty();
  task->pending_update = std::move(json);
  if (!first) return;
  runtime_->after(kUpdateIntervalMs - (now - task->last_update), [this, token = task->token] {
    Task* later = find(token);
    if (later == nullptr || later->pending_update.empty()) return;
    later->last_update = uv_now(runtime_->loop());
    runtime_->send_event(Event{EventKind::kUpdate, token, {}, std::move(later->pending_update)});
    later->pending_update.clear();
  });
}

}  // namespace panto

#include "core/runtime.h"

#include <pthread.h>

#include <chrono>
#include <cstdio>

#include "core/await.h"
#include "core/chain.h"
#include "core/children.h"
#include "core/core_lib.h"
#include "core/coroutine_lib.h"
#include "core/interrupt.h"
#include "core/json.h"
#include "core/luv_bridge.h"
#include "core/shell.h"
#include "lua/interrupt.h"

namespace panto {
namespace {

thread_local Runtime* this_thread_runtime = nullptr;

void close_delayed(DelayedWork* delayed) {
  uv_close(reinterpret_cast<uv_handle_t*>(&delayed->handle),
           [](uv_handle_t* handle) { delete static_cast<DelayedWork*>(handle->data); });
}

constexpr uint64_t kNsPerMs = 1000000;

const char kFinalizersKey = 0;

double hrtime_ms() {
  return static_cast<double>(uv_hrtime()) / 1e6;
}

// Protected. stack: Runtime
int open_state(lua_State* L) {
  auto* runtime = static_cast<Runtime*>(lua_touserdata(L, 1));
  lua_pushboolean(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX,
               "LUA_NOENV");  // LUA_PATH and LUA_CPATH are the user's interpreter's, not ours
  luaL_openlibs(L);
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_pushstring(L, runtime->options().module_path.c_str());
  lua_setfield(L, -2, "path");
  lua_pushstring(L, runtime->options().module_cpath.c_str());
  lua_setfield(L, -2, "cpath");
  lua_pop(L, 1);
  runtime->open_finalizers(L);
  open_json(L);
  open_await(L);
  open_coroutine_lib(L);
  open_luv(L, runtime->options().luv_file);
  runtime->scheduler().open();
  open_core_lib(L);
  lua_pushfstring(L, "%s/panto/runtime/host.lua", runtime->options().lua_dir.c_str());
  if (luaL_loadfilex(L, lua_tostring(L, -1), "t") != LUA_OK) return lua_error(L);
  push_core_lib(L);
  lua_call(L, 1, 1);
  set_control_functions(L);
  return 0;
}

}  // namespace

Runtime::Runtime(RuntimeOptions options)
    : options_(std::move(options)),
      watchdog_(Watchdog::Limits{options_.hold_limit_ms * kNsPerMs, options_.grace_ms * kNsPerMs,
                                 options_.closers_ms * kNsPerMs}) {}

Runtime* Runtime::current() {
  return this_thread_runtime;
}

bool Runtime::start(std::string* error) {
  int status = uv_loop_init(&loop_);
  if (status == 0) {
    async_.data = this;
    status = uv_async_init(&loop_, &async_,
                           [](uv_async_t* handle) { static_cast<Runtime*>(handle->data)->handle_inbox(); });
  }
  if (status != 0) {
    *error = std::string("cannot start the Lua runtime: ") + uv_strerror(status);
    return false;
  }
  keep_shell_children();
  accept_children();
  life_ = Life::kRunning;
  running_ = true;
  thread_ = std::thread([this] { run(); });
  return true;
}

void Runtime::send(Request request) {
  // The loop may not turn for a while: the watchdog is told at once.
  if (auto* cancel = std::get_if<CancelTask>(&request)) watchdog_.ask_to_stop(cancel->token, cancel->reason);
  if (!inbox_.push(std::move(request))) return;
  // Not under a lock: the thread that wakes here would run into it at once. The handle is open: only the JS
  // thread, which sends and shuts down, ends kRunning.
  if (running_) uv_async_send(&async_);
}

bool Runtime::shutdown(int limit_ms) {
  std::unique_lock<std::mutex> lock(life_mutex_);
  if (life_ == Life::kNew) return true;
  if (life_ == Life::kRunning) {
    life_ = Life::kStopping;
    running_ = false;
    uv_async_send(&async_);
  }
  // First of all: the thread may be waiting for one, and none must outlive us because its starter hangs.
  lock.unlock();
  kill_children();
  lock.lock();
  bool ended = life_changed_.wait_for(lock, std::chrono::milliseconds(limit_ms),
                                      [this] { return life_ == Life::kEnded; });
  lock.unlock();
  if (thread_.joinable()) {
    if (ended) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }
  return ended;
}

// ---- the Lua thread ----

void Runtime::run() {
  this_thread_runtime = this;
  open_interrupts();
  watchdog_.start(pthread_self());
  std::string error;
  if (boot(&error)) {
    send_event(Event{EventKind::kReady});
    // Also ends when a rock stops the loop (uv_stop from C); only shutdown may end the runtime.
    while (!closing_) uv_run(&loop_, UV_RUN_DEFAULT);
  } else {
    send_event(Event{EventKind::kBootFailed, 0, {}, error});
    std::unique_lock<std::mutex> lock(life_mutex_);
    while (life_ == Life::kRunning) {
      lock.unlock();
      uv_run(&loop_, UV_RUN_ONCE);
      lock.lock();
    }
  }
  close_down();
  std::lock_guard<std::mutex> lock(life_mutex_);
  life_ = Life::kEnded;
  life_changed_.notify_all();
}

bool Runtime::boot(std::string* error) {
  L_ = luaL_newstate();
  if (L_ == nullptr) {
    *error = "not enough memory for a Lua state";
    return false;
  }
  set_task_of_root(L_, nullptr);
  disarm(L_);
  scheduler_ = std::make_unique<Scheduler>(this, L_);
  lua_pushcfunction(L_, open_state);
  lua_pushlightuserdata(L_, this);
  if (lua_pcall(L_, 1, 0, 0) == LUA_OK) return true;
  const char* text = lua_tostring(L_, -1);
  *error = text != nullptr ? text : "the Lua side of the runtime did not start";
  lua_settop(L_, 0);
  scheduler_.reset();
  return false;
}

void Runtime::open_finalizers(lua_State* L) {
  finalizers_ = lua_newthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kFinalizersKey);
  panto_set_finalizer_queue(finalizers_);
}

void Runtime::note_finalizers() {
  if (lua_gettop(finalizers_) >= 2 && !scheduler_->runs_finalizers()) uv_async_send(&async_);
}

void Runtime::handle_inbox() {
  if (!running_) closing_ = true;
  if (closing_) {
    uv_stop(&loop_);
    return;
  }
  if (scheduler_ == nullptr) return;
  for (auto& work : std::exchange(deferred_, {})) work();
  for (Request& request : inbox_.drain()) {
    if (auto* batch = std::get_if<InvokeBatch>(&request)) {
      scheduler_->start_batch(std::move(*batch));
    } else if (auto* control = std::get_if<ControlCall>(&request)) {
      scheduler_->start_control(*control);
    } else if (auto* cancel = std::get_if<CancelTask>(&request)) {
      scheduler_->cancel(*cancel);
      if (scheduler_->find(cancel->token) == nullptr) watchdog_.forget(cancel->token);
    }
  }
  scheduler_->run_finalizers(finalizers_);
  scheduler_->run_ready();
  if (scheduler_->has_ready() || !deferred_.empty()) uv_async_send(&async_);
}

// Closes what Lua opened while the state is still whole, lets the loop finish what is under way (no callback
// reaches Lua any more), then closes the state and what its finalizers closed.
void Runtime::close_down() {
  closing_ = true;
  watchdog_.stop();
  panto_set_finalizer_queue(nullptr);  // what is still to be finalized is so in place
  closing_handles_ = true;
  if (L_ != nullptr) close_luv_handles(L_);
  closing_handles_ = false;
  uv_walk(
      &loop_, [](uv_handle_t* handle, void*) { uv_unref(handle); }, nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  if (L_ != nullptr) lua_close(L_);
  L_ = nullptr;
  for (DelayedWork* delayed : std::exchange(delayed_, {})) close_delayed(delayed);
  uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  uv_loop_close(&loop_);
}

double Runtime::now_ms() const {
  return hrtime_ms() - options_.clock_origin_ms + options_.time_origin_ms;
}

double Runtime::seconds_until(double deadline_ms) const {
  return (deadline_ms - (hrtime_ms() - options_.clock_origin_ms)) / 1000;
}

void Runtime::send_event(Event event) {
  if (outbox_.push(std::move(event))) options_.wake();
}

void Runtime::defer(std::function<void()> work) {
  deferred_.push_back(std::move(work));
  if (deferred_.size() == 1) uv_async_send(&async_);
}

void Runtime::after(uint64_t delay_ms, std::function<void()> work) {
  auto* delayed = new DelayedWork{{}, std::move(work)};
  delayed->handle.data = delayed;
  delayed_.insert(delayed);
  uv_timer_init(&loop_, &delayed->handle);
  uv_timer_start(
      &delayed->handle,
      [](uv_timer_t* handle) {
        auto* due = static_cast<DelayedWork*>(handle->data);
        Runtime* runtime = Runtime::current();
        runtime->delayed_.erase(due);
        if (!runtime->closing()) {
          due->work();
          runtime->scheduler().run_ready();
        }
        close_delayed(due);
      },
      delay_ms, 0);
}

const Extension& Runtime::extension(int id) const {
  static const Extension none;
  auto found = extensions_.find(id);
  return found == extensions_.end() ? none : found->second;
}

int Runtime::current_owner() const {
  Task* task = current_task();
  return task != nullptr ? task->owner : callback_owner;
}

void Runtime::report(const Failure& failure, int owner) {
  send_event(Event{EventKind::kProblem, 0, {}, failure_json(failure, extension(owner).name)});
}

std::string Runtime::hold_limit_text() const {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", static_cast<double>(options_.hold_limit_ms) / 1000);
  return text;
}

void Runtime::report_orphan(lua_State* orphan, const Unit& unit) {
  // The coroutine is dead but whole: its frames still tell the place.
  callback_failure = Failure{};
  if (unit.at_least(Phase::kSoft)) {
    callback_failure.kind = "timeout";
    callback_failure.message =
        "a coroutine was stopped: it ran for more than " + hold_limit_text() + " (lua.hold_limit)";
  } else if (lua_checkstack(L_, 4)) {
    ScopedFrame frame(L_, nullptr);
    lua_pushcfunction(L_, [](lua_State* L) {
      auto* dead = static_cast<lua_State*>(lua_touserdata(L, 1));
      lua_settop(L, 0);
      lua_xmove(dead, L, 1);
      record_failure(L);
      return 0;
    });
    lua_pushlightuserdata(L_, orphan);
    if (lua_pcall(L_, 1, 0, 0) != LUA_OK) lua_pop(L_, 1);
  }
  describe_place(orphan, extension(unit.owner), &callback_failure);
  report(callback_failure, unit.owner);
}

bool Runtime::is_own_handle(const uv_handle_t* handle) const {
  if (handle == reinterpret_cast<const uv_handle_t*>(&async_)) return true;
  return delayed_.count(static_cast<DelayedWork*>(handle->data)) > 0;
}

}  // namespace panto

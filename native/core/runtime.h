// The one Lua runtime of a process: a thread, its libuv loop, its lua_State.
//
// start(), send(), drain() and shutdown() may be called from any other thread; everything else belongs to the
// Lua thread. A runtime whose thread does not come back in time is left behind with all it owns (it is never
// freed under a running thread).
#pragma once

#include <uv.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/errors.h"
#include "core/messages.h"
#include "core/scheduler.h"
#include "core/watchdog.h"
#include "lua.hpp"

namespace panto {

struct RuntimeOptions {
  std::string lua_dir;      // the Lua that ships with panto; panto/runtime/host.lua in it is run once at boot
  std::string module_path;  // package.path of the runtime's own modules and of the tree
  std::string module_cpath;
  std::string luv_file;  // luv.so of the tree; may be absent
  std::string log_file;  // where print, io.stdout and io.stderr go; empty: nowhere
  std::string session;
  std::string cwd;
  double clock_origin_ms;      // performance.now() + clock_origin_ms = uv_hrtime() in ms
  double time_origin_ms;       // performance.timeOrigin
  uint64_t hold_limit_ms;      // how long Lua code may run without a suspension
  uint64_t grace_ms = 500;     // from CANCEL to the hard stop
  uint64_t closers_ms = 100;   // from the hard stop to the end of closers
  std::function<void()> wake;  // called on the Lua thread when drain() has something new; must not block
};

// One-shot work on the loop.
struct DelayedWork {
  uv_timer_t handle;
  std::function<void()> work;
};

// What messages say of an extension.
struct Extension {
  std::string name;
  std::string source_prefix;  // chunk names that begin so are its own
};

class Runtime {
 public:
  explicit Runtime(RuntimeOptions options);

  // Starts the thread. kReady or kBootFailed follows.
  bool start(std::string* error);
  void send(Request request);
  std::vector<Event> drain() { return outbox_.drain(); }
  // Returns whether the thread has ended within `limit_ms`. May be called again.
  bool shutdown(int limit_ms);

  // ---- the Lua thread only ----

  // The runtime of this thread; null on other threads.
  static Runtime* current();
  lua_State* state() const { return L_; }
  uv_loop_t* loop() { return &loop_; }
  Scheduler& scheduler() { return *scheduler_; }
  Watchdog& watchdog() { return watchdog_; }
  std::string hold_limit_text() const;
  const RuntimeOptions& options() const { return options_; }
  bool closing() const { return closing_; }
  // False once the state is being closed: callbacks that the loop still owes are dropped.
  bool runs_callbacks() const { return !closing_ || closing_handles_; }

  // On the clock of performance.timeOrigin + performance.now().
  double now_ms() const;
  // Seconds until a deadline on the clock of performance.now().
  double seconds_until(double deadline_ms) const;

  void send_event(Event event);
  // Runs `work` on the next pass of the loop.
  void defer(std::function<void()> work);
  void after(uint64_t delay_ms, std::function<void()> work);

  void define_extension(int id, Extension extension) { extensions_[id] = std::move(extension); }
  void forget_extension(int id) { extensions_.erase(id); }
  const Extension& extension(int id) const;
  // The extension that the running code belongs to; 0 for the runtime itself.
  int current_owner() const;
  // Finalizers that wait for a task are run on the next pass of the loop.
  void note_finalizers();
  // Protected; at boot.
  void open_finalizers(lua_State* L);
  // Set while a luv callback runs.
  int callback_owner = 0;
  Failure callback_failure;

  void report(const Failure& failure, int owner);
  // `orphan` died of an error that nobody else will see; it is on its stack.
  void report_orphan(lua_State* orphan, const Unit& unit);
  // Ours, not luv's: it wakes no task by itself.
  bool is_own_handle(const uv_handle_t* handle) const;

 private:
  void run();
  bool boot(std::string* error);
  void handle_inbox();
  void close_down();

  RuntimeOptions options_;
  std::thread thread_;
  uv_loop_t loop_{};
  uv_async_t async_{};
  lua_State* L_ = nullptr;
  lua_State* finalizers_ = nullptr;  // queue of __gc calls; anchored in the registry
  Watchdog watchdog_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unordered_map<int, Extension> extensions_;
  std::vector<std::function<void()>> deferred_;
  std::unordered_set<DelayedWork*> delayed_;
  bool closing_ = false;
  bool closing_handles_ = false;  // luv's own walk calls back to close them

  Mailbox<Request> inbox_;
  Mailbox<Event> outbox_;

  std::atomic<bool> running_{false};  // life_ is kRunning
  std::mutex life_mutex_;             // guards the two below and the async handle against the end of the loop
  std::condition_variable life_changed_;
  enum class Life { kNew, kRunning, kStopping, kEnded } life_ = Life::kNew;
};

}  // namespace panto

// Runs tasks on the Lua thread: starts them, wakes them, stops them, sees their ends. Owns every Task.
//
// Nothing here raises: Lua calls that can are made inside lua_pcall. Nothing here blocks.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/await.h"
#include "core/messages.h"
#include "core/task.h"
#include "lua.hpp"

namespace panto {

class Runtime;

// The calls of one InvokeBatch. Kept by its tasks.
struct Batch {
  std::vector<CallSpec> calls;
  size_t next = 0;  // the first call that has not been started
  bool serial = false;
};

class Scheduler {
 public:
  Scheduler(Runtime* runtime, lua_State* L);

  // Creates the anchors and the tool table. Once, protected.
  void open();

  void start_batch(InvokeBatch request);
  void start_control(const ControlCall& request);
  // A task made by core/spawn.cc; its root is anchored and has `args` values, function first, on its stack.
  void add_spawned(UnitId id, lua_State* root, int args, Task* parent, int owner, uint64_t deadline_ns);
  // Queued finalizers run in a task of their own, one such task at a time.
  void run_finalizers(lua_State* queue);
  bool runs_finalizers() { return find(finalizers_) != nullptr; }

  // Softly: CANCEL is thrown where the task waits; the hard stop follows after the grace.
  void cancel(const CancelTask& request);
  void cancel_children(Task* task);
  // Running code of the unit has just got its CANCEL from the hook.
  void note_cancelled(Unit* unit, CancelReason reason);

  // Null when the task has settled.
  Task* find(UnitId id);
  size_t count() const { return tasks_.size(); }

  void make_ready(Task* task);
  // A coroutine outside every task that waits in an await.
  void make_ready(lua_State* orphan, int owner);
  // Runs what is ready, and what becomes ready meanwhile, up to a bound; the rest waits for the next pass of
  // the loop. Does nothing while a coroutine runs.
  void run_ready();
  bool has_ready() const { return !ready_.empty(); }

  // Called by lua_resume when the root of `task` has suspended or ended. May destroy `task`.
  void root_returned(Task* task, int status, int nresults);

  void update(Task* task, std::string json);
  void report_defer_failure(Task* task);

  // Of tasks that JS does not know.
  UnitId next_id() { return ++last_id_; }
  // Keeps the coroutine at `index` alive as the root of `id`. May raise on memory.
  static void anchor(lua_State* L, UnitId id, int index);
  // Pushes the table tool name -> { handler = function, owner = extension id }. stack: +1
  static void push_tools(lua_State* L);

  // Called by the collector: nobody can resume that task any more.
  void note_lost(UnitId id);
  // Open sleeps, and open questions to the host: what will wake a task without luv.
  int sleeping = 0;
  int asking = 0;

  // The waiter that the await which suspends right now waits on.
  Waiter* suspending = nullptr;

 private:
  struct Ready {
    UnitId task;        // 0: an orphan
    lua_State* orphan;  // anchored by its waiter
    int owner;          // of an orphan
  };

  void start_next(const std::shared_ptr<Batch>& batch);
  void start_call(const std::shared_ptr<Batch>& batch, const CallSpec& call);
  Task* adopt(std::unique_ptr<Task> task);
  void begin(Task* task);
  void resume(Task* task);
  void resume_orphan(lua_State* orphan, int owner);
  void close_lost(UnitId id);
  bool can_be_woken();
  void look_for_lost();
  void set_anchor(const Task* task, bool alive);
  void close_task(UnitId id);
  void refuse(Task* task, const char* kind, const std::string& message);
  void settle(Task* task);
  void leave_parent(const Task* task);
  void send_outcome(Task* task);
  void describe_stop(Task* task);
  void run_defers_after_kill(Task* task);

  Runtime* runtime_;
  lua_State* L_;
  std::unordered_map<UnitId, std::unique_ptr<Task>> tasks_;
  // Calls of serial batches that have not been started, and what cancelled them.
  std::unordered_map<UnitId, std::optional<CancelReason>> queued_;
  std::deque<Ready> ready_;
  bool running_ready_ = false;
  UnitId finalizers_ = 0;
  bool looking_for_lost_ = false;
  uint64_t runs_ = 0;            // resumes of tasks
  uint64_t collected_runs_ = 0;  // those before the last whole collection that looked for lost tasks
  int quiet_cycles_ = 0;
  // Tokens of JS count up from 1; ours from here on.
  UnitId last_id_ = UnitId{1} << 48;
};

}  // namespace panto

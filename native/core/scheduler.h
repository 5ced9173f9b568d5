// Runs tasks on the Lua thread: starts them, wakes them, sees their ends. Owns every Task.
//
// Nothing here raises: Lua calls that can are made inside lua_pcall. Nothing here blocks.
#pragma once

#include <deque>
#include <memory>
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
  void cancel(const CancelTask& request);

  // Null when the task has settled.
  Task* find(Token token);

  void make_ready(Task* task);
  // A coroutine outside every task that waits in an await.
  void make_ready(lua_State* orphan);
  // Runs what is ready, and what becomes ready meanwhile, up to a bound; the rest waits for the next pass of
  // the loop. Does nothing while a coroutine runs.
  void run_ready();
  bool has_ready() const { return !ready_.empty(); }

  // Called by lua_resume when the root of `task` has suspended or ended. May destroy `task`.
  void root_returned(Task* task, int status, int nresults);

  void update(Task* task, std::string json);

  // Pushes the table tool name -> { handler = function, owner = extension id }. stack: +1
  static void push_tools(lua_State* L);

  // The waiter that the await which suspends right now waits on.
  Waiter* suspending = nullptr;

 private:
  struct Ready {
    Token task;         // 0: an orphan
    lua_State* orphan;  // anchored by its waiter
  };

  void start_next(const std::shared_ptr<Batch>& batch);
  void start_call(const std::shared_ptr<Batch>& batch, const CallSpec& call);
  Task* adopt(std::unique_ptr<Task> task);
  void begin(Task* task);
  void resume(Task* task, int nargs);
  void resume_orphan(lua_State* orphan);
  void close_task(Token token);
  void settle(Task* task);

  Runtime* runtime_;
  lua_State* L_;
  std::unordered_map<Token, std::unique_ptr<Task>> tasks_;
  std::deque<Ready> ready_;
  bool running_ready_ = false;
};

}  // namespace panto

// The thread that notices: a cancelled task that does not stop, code that holds the Lua thread too long, C
// code that blocks.
//
// It only reads what the Lua thread publishes when the running unit changes, and sends it signals. While
// nothing runs it sleeps without a tick.
#pragma once

#include <pthread.h>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "core/unit.h"

namespace panto {

class Watchdog {
 public:
  struct Limits {
    uint64_t hold_ns;
    uint64_t grace_ns;    // from the soft stop to the hard one
    uint64_t closers_ns;  // from the hard stop to the cut
  };
  explicit Watchdog(const Limits& limits) : limits_(limits) {}

  void start(pthread_t lua_thread);
  void stop();

  // The Lua thread: another unit runs now; null: none does.
  void publish(const Unit* unit);

  // Any thread: the task, with all below it, is to stop, if it still runs in a while.
  void ask_to_stop(UnitId root, CancelReason reason);
  // The Lua thread has seen to it.
  void forget(UnitId root);

 private:
  struct Asked {
    CancelReason reason;
    uint64_t since_ns;
  };
  void run();
  void tick(uint64_t now);
  // Whether the signal was sent: not while one is still being handled.
  bool send(UnitId unit, Phase phase, CancelReason reason, uint64_t now);

  const Limits limits_;
  std::thread thread_;
  pthread_t lua_thread_{};

  // What runs; written by the Lua thread. `sequence_` is odd while the others change.
  std::atomic<uint64_t> sequence_{0};
  std::atomic<UnitId> current_id_{0};
  std::atomic<UnitId> current_root_{0};
  std::atomic<uint64_t> current_hard_at_{0};
  std::atomic<uint64_t> current_deadline_{0};
  std::atomic<uint64_t> current_hold_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> asleep_{false};
  bool stopping_ = false;
  std::unordered_map<UnitId, Asked> asked_;

  // The watchdog's own view.
  uint64_t seen_sequence_ = 0;
  uint64_t watched_ns_ = 0;     // its clock: stands while the process, or the machine, does
  uint64_t last_tick_ns_ = 0;   // uv_hrtime
  uint64_t seen_since_ = 0;     // on its clock
  UnitId closing_ = 0;          // the unit that has last been stopped for good
  uint64_t closing_since_ = 0;  // on its clock
  uint64_t sent_ns_ = 0;
};

}  // namespace panto

#include "core/watchdog.h"

#include <signal.h>
#include <uv.h>

#include <algorithm>
#include <chrono>

#include "core/interrupt.h"

namespace panto {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kMs = 1000000;
// While something runs that nobody has asked to stop. The shortest hold limit is that of finalizers, 100 ms.
constexpr milliseconds kWatchTick{25};
// While something is being stopped.
constexpr milliseconds kStopTick{5};
// After that long without a run it sleeps until there is one.
constexpr uint64_t kIdleNs = 500 * kMs;
// A cancel reaches the task through the loop, if the loop turns; the watchdog steps in after that long.
constexpr uint64_t kLoopFirstNs = 10 * kMs;
// A tick that comes later than this says that the process, or the machine, stood still. Nobody is charged for
// that.
constexpr uint64_t kMaxTickNs = 100 * kMs;
// The handler must get to its end between two signals, whatever it costs.
constexpr uint64_t kHandlerRatio = 4;

}  // namespace

void Watchdog::start(pthread_t lua_thread) {
  lua_thread_ = lua_thread;
  thread_ = std::thread([this] { run(); });
}

void Watchdog::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::publish(const Unit* unit) {
  uint64_t sequence = sequence_.load(std::memory_order_relaxed);
  sequence_.store(sequence + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_release);
  current_id_.store(unit != nullptr ? unit->id : 0, std::memory_order_relaxed);
  if (unit != nullptr) {
    current_root_.store(unit->root_id, std::memory_order_relaxed);
    current_hard_at_.store(unit->hard_at_ns, std::memory_order_relaxed);
    current_deadline_.store(unit->deadline_ns, std::memory_order_relaxed);
    current_hold_.store(unit->hold_limit_ns, std::memory_order_relaxed);
  }
  sequence_.store(sequence + 2, std::memory_order_release);
  if (unit != nullptr && asleep_.load(std::memory_order_relaxed)) {
    std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
  }
}

void Watchdog::ask_to_stop(UnitId root, CancelReason reason) {
  std::lock_guard<std::mutex> lock(mutex_);
  asked_.emplace(root, Asked{reason, uv_hrtime()});
  changed_.notify_all();
}

void Watchdog::forget(UnitId root) {
  std::lock_guard<std::mutex> lock(mutex_);
  asked_.erase(root);
}

void Watchdog::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  uint64_t idle_since = uv_hrtime();
  while (!stopping_) {
    uint64_t now = uv_hrtime();
    bool running = current_id_.load(std::memory_order_acquire) != 0;
    if (running) idle_since = now;
    if (!running && now - idle_since > kIdleNs) {
      asleep_ = true;
      changed_.wait(lock, [this] { return stopping_ || current_id_.load(std::memory_order_acquire) != 0; });
      asleep_ = false;
      continue;
    }
    bool stopping_something = !asked_.empty() || current_hard_at_.load(std::memory_order_relaxed) != 0 ||
                              current_deadline_.load(std::memory_order_relaxed) != 0;
    changed_.wait_for(lock, running && stopping_something ? kStopTick : kWatchTick);
    tick(uv_hrtime());
  }
}

// Under mutex_.
void Watchdog::tick(uint64_t now) {
  uint64_t sequence = sequence_.load(std::memory_order_acquire);
  UnitId id = current_id_.load(std::memory_order_relaxed);
  UnitId root = current_root_.load(std::memory_order_relaxed);
  uint64_t hard_at = current_hard_at_.load(std::memory_order_relaxed);
  uint64_t deadline = current_deadline_.load(std::memory_order_relaxed);
  uint64_t hold = current_hold_.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  bool torn = sequence % 2 != 0 || sequence_.load(std::memory_order_relaxed) != sequence;
  watched_ns_ += std::min(now - last_tick_ns_, kMaxTickNs);
  last_tick_ns_ = now;
  if (sequence != seen_sequence_) {
    seen_sequence_ = sequence;
    seen_since_ = watched_ns_;
  }
  if (torn || id == 0) return;

  // The latest of what each reason asks for.
  Phase phase = Phase::kNone;
  CancelReason reason = CancelReason::kTimeout;
  auto consider = [&](uint64_t clock, uint64_t soft_at, CancelReason why) {
    Phase due = clock >= soft_at + limits_.grace_ns ? Phase::kHard
                : clock >= soft_at                  ? Phase::kSoft
                                                    : Phase::kNone;
    if (due > phase) {
      phase = due;
      reason = why;
    }
  };
  // Cancelled before it ran on: only what follows the soft stop.
  if (hard_at != 0 && now >= hard_at) phase = Phase::kHard;
  auto asked = asked_.find(root);
  if (asked != asked_.end()) consider(now, asked->second.since_ns + kLoopFirstNs, asked->second.reason);
  if (deadline != 0) consider(now, deadline, CancelReason::kTimeout);
  if (hold == 0) hold = limits_.hold_ns;
  consider(watched_ns_, seen_since_ + hold, CancelReason::kHeld);
  if (phase == Phase::kNone) return;
  // Closers have their time from when they can use it.
  if (closing_ == id && watched_ns_ - closing_since_ >= limits_.closers_ns) phase = Phase::kCut;
  bool by_root = asked != asked_.end() && reason == asked->second.reason;
  bool sent = send(by_root ? root : id, phase, reason, now);
  if (sent && phase == Phase::kHard && closing_ != id) {
    closing_ = id;
    closing_since_ = watched_ns_;
  }
}

bool Watchdog::send(UnitId unit, Phase phase, CancelReason reason, uint64_t now) {
  uint64_t handled = last_signal_handled_ns();
  bool in_flight = sent_ns_ > handled;
  if (in_flight || now - handled < kHandlerRatio * last_signal_duration_ns()) return false;
  sent_ns_ = now;
  request_stop(StopRequest{unit, phase, reason});
  send_interrupt(lua_thread_);
  return true;
}

}  // namespace panto

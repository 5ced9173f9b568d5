#include "core/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <uv.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/await.h"
#include "core/chain.h"
#include "core/runtime.h"
#include "core/scheduler.h"
#include "core/task.h"
#include "lua/interrupt.h"

namespace panto {
namespace {

static_assert(kInterruptSignal == SIGURG);

// While a unit cleans up, or runtime code runs, the hook looks again after that many instructions.
constexpr int kRecheckInstructions = 200;

char kill_value;

// The request that the next signal carries: id in the upper bits, reason and phase below.
constexpr int kReasonShift = 4;
constexpr int kIdShift = 8;
std::atomic<uint64_t> pending_request{0};
std::atomic<uint64_t> handled_ns{0};
std::atomic<uint64_t> duration_ns{0};

enum class Decision {
  kStale,  // nothing to do here: take the hook off
  kLater,  // not now: look again soon
  kThrow,  // throw CANCEL, once
  kStop,   // stop for good
};

void stop_hook(lua_State* L, lua_Debug* event);
void on_signal(int);

#ifdef PANTO_POLLED_INTERRUPTS
constexpr int kPollInstructions = 1000;
std::atomic<bool> interrupt_sent{false};

void take_polled_interrupt() {
  if (Runtime::current() != nullptr && interrupt_sent.exchange(false)) on_signal(kInterruptSignal);
}
#else
void take_polled_interrupt() {}
#endif

void set_poll_flag(bool stopping) {
#ifndef PANTO_POLLED_INTERRUPTS
  __atomic_store_n(&panto_poll_flag, stopping ? 1 : 0, __ATOMIC_RELAXED);
#endif
}

bool is_runtime_code(lua_State* L) {
  lua_Debug frame;
  if (!lua_getstack(L, 0, &frame)) return false;
  lua_getinfo(L, "S", &frame);
  const std::string& dir = Runtime::current()->options().lua_dir;
  return frame.source[0] == '@' && std::strncmp(frame.source + 1, dir.c_str(), dir.size()) == 0;
}

Decision decide(lua_State* L) {
  ChainFrame* frame = chain_top();
  if (frame == nullptr || frame->unit == nullptr || frame->coroutine != L) return Decision::kStale;
  Unit* unit = frame->unit;
  if (unit->done || !unit->at_least(Phase::kSoft)) return Decision::kStale;
  if (!unit->at_least(Phase::kHard) && unit->cancel_thrown) return Decision::kStale;
  if (!unit->at_least(Phase::kCut) && (is_cleaning_up(unit) || is_runtime_code(L))) return Decision::kLater;
  return unit->at_least(Phase::kHard) ? Decision::kStop : Decision::kThrow;
}

void disarm_running(const Unit* unit) {
  for (ChainFrame* frame = chain_top(); frame != nullptr; frame = frame->previous) {
    if (frame->unit == unit) disarm(frame->coroutine);
  }
}

// Remembers where the task ran, for its report.
void note_place(lua_State* L, Unit* unit) {
  if (unit->task == nullptr || !unit->task->stopped_at.empty()) return;
  lua_Debug frame;
  for (int level = 0; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline < 0) continue;
    unit->task->stopped_at = std::string(frame.short_src) + ":" + std::to_string(frame.currentline);
    return;
  }
}

// From here on the unit is cancelled as if somebody had asked for it while it slept.
void begin_throw(lua_State* L, Unit* unit) {
  note_place(L, unit);
  unit->cancel_thrown = true;
  disarm_running(unit);
  Runtime::current()->scheduler().note_cancelled(unit, static_cast<CancelReason>(unit->reason));
  panto_forget_handler(L);
  push_cancel(L);
}

void stop_hook(lua_State* L, lua_Debug* event) {
  take_polled_interrupt();
  Unit* unit = chain_top() != nullptr ? chain_top()->unit : nullptr;
  switch (decide(L)) {
    case Decision::kStale:
      disarm(L);
      return;
    case Decision::kLater:
      panto_rearm(L, kRecheckInstructions);
      return;
    case Decision::kThrow:
    case Decision::kStop:
      break;
  }
  note_place(L, unit);
  panto_rearm(L, 1);
  bool yieldable = lua_isyieldable(L);
  // A yield at the call event of a C function would jump out of it; the next instruction brings a count
  // event.
  if (yieldable && event->event != LUA_HOOKCOUNT) return;
  if (!unit->at_least(Phase::kHard)) {
    begin_throw(L, unit);
    lua_error(L);
  }
  if (yieldable) {
    // Suspended, the coroutine can be closed by lua_resume's wrapper, so that each <close> runs.
    unit->hook_yielded = L;
    lua_yield(L, 0);
    return;
  }
  panto_forget_handler(L);
  push_kill(L);
  lua_error(L);
}

void on_signal(int) {
  int saved_errno = errno;
  uint64_t began = uv_hrtime();
  uint64_t request = pending_request.load(std::memory_order_acquire);
  UnitId id = request >> kIdShift;
  int phase = static_cast<int>(request & 0xF);
  int reason = static_cast<int>(request >> kReasonShift & 0xF);
  bool hit = false;
  for (ChainFrame* frame = chain_top(); frame != nullptr; frame = frame->previous) {
    Unit* unit = frame->unit;
    if (unit == nullptr || unit->done || (unit->id != id && unit->root_id != id)) continue;
    if (phase > unit->phase) {
      if (unit->phase == static_cast<int>(Phase::kNone)) unit->reason = reason;
      unit->phase = phase;
    }
    if (!unit->at_least(Phase::kHard) && unit->cancel_thrown) continue;
    panto_arm(frame->coroutine, stop_hook);
    hit = true;
  }
  if (hit) set_poll_flag(true);
  uint64_t ended = uv_hrtime();
  duration_ns.store(ended - began, std::memory_order_relaxed);
  handled_ns.store(ended, std::memory_order_release);
  errno = saved_errno;
}

}  // namespace

void open_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(kInterruptSignal, &action, nullptr);
}

void arm_if_stopping(lua_State* L, const Unit* unit) {
  if (unit == nullptr || unit->done || !unit->at_least(Phase::kSoft)) return;
  if (!unit->at_least(Phase::kHard) && unit->cancel_thrown) return;
  panto_allow_hooks(L);
  panto_arm(L, stop_hook);
  set_poll_flag(true);
}

void disarm(lua_State* L) {
#ifdef PANTO_POLLED_INTERRUPTS
  lua_sethook(L, stop_hook, LUA_MASKCOUNT, kPollInstructions);
#else
  lua_sethook(L, nullptr, 0, 0);
#endif
}

void arm_running(const Unit* unit) {
  for (ChainFrame* frame = chain_top(); frame != nullptr; frame = frame->previous) {
    if (frame->unit == unit) panto_arm(frame->coroutine, stop_hook);
  }
}

void request_stop(const StopRequest& request) {
  uint64_t word = request.unit << kIdShift | static_cast<uint64_t>(request.reason) << kReasonShift |
                  static_cast<uint64_t>(request.phase);
  pending_request.store(word, std::memory_order_release);
}

void send_interrupt(pthread_t lua_thread) {
#ifdef PANTO_POLLED_INTERRUPTS
  (void)lua_thread;
  interrupt_sent = true;
#else
  pthread_kill(lua_thread, kInterruptSignal);
#endif
}

uint64_t last_signal_handled_ns() {
  return handled_ns.load(std::memory_order_acquire);
}
uint64_t last_signal_duration_ns() {
  return duration_ns.load(std::memory_order_relaxed);
}

bool is_cleaning_up(const Unit* unit) {
  if (unit->shield > 0) return true;
  for (ChainFrame* frame = chain_top(); frame != nullptr; frame = frame->previous) {
    if (frame->unit == unit && panto_in_closer(frame->coroutine)) return true;
  }
  return false;
}

void push_kill(lua_State* L) {
  lua_pushlightuserdata(L, &kill_value);
}

bool is_kill(lua_State* L, int index) {
  return lua_touserdata(L, index) == &kill_value;
}

}  // namespace panto

// In a C loop of Lua's libraries, under the poll flag.
extern "C" void panto_poll(void) {
  using namespace panto;
  take_polled_interrupt();
  ChainFrame* frame = chain_top();
  if (frame == nullptr || frame->unit == nullptr) return;
  lua_State* L = frame->coroutine;
  Decision decision = decide(L);
  // Nothing to stop here. A signal that comes just now is sent again.
  if (decision == Decision::kStale) set_poll_flag(false);
  if (decision != Decision::kThrow && decision != Decision::kStop) return;
  if (decision == Decision::kThrow) {
    begin_throw(L, frame->unit);
  } else {
    arm_running(frame->unit);
    panto_forget_handler(L);
    push_kill(L);
  }
  lua_error(L);
}

// Interrupting Lua code, on the Lua thread, wherever it is. See docs/concurrency.md, "Interrupting".
//
// The watchdog sends a signal that names a unit. The handler raises the phase of that unit's frames in the
// chain and arms their states; the hook, or a poll in a C loop of Lua's libraries, then decides at a safe
// point: go on, throw CANCEL once, or stop for good. Without a stop request no hook is set.
//
// With PANTO_POLLED_INTERRUPTS there is no signal: a hook is always set, and looks for a request every
// thousand instructions. For ThreadSanitizer, which holds signals back until the thread makes a system call.
#pragma once

#include <pthread.h>

#include "core/unit.h"
#include "lua.hpp"

namespace panto {

// Installs the signal handler for this thread's chain. Once per runtime, on the Lua thread.
void open_interrupts();

// Arms `L` if its unit is being stopped: for a state that joins the chain.
void arm_if_stopping(lua_State* L, const Unit* unit);
// Takes the hook off.
void disarm(lua_State* L);
// Arms every frame of the unit that runs right now.
void arm_running(const Unit* unit);

// Names what the next signal is for: any thread, before it sends the signal.
struct StopRequest {
  UnitId unit;  // matches a unit's id or root
  Phase phase;
  CancelReason reason;
};
void request_stop(const StopRequest& request);
// Any thread: lets the Lua thread look at the request.
void send_interrupt(pthread_t lua_thread);
// When the last signal was handled, and how long that took; for the watchdog.
uint64_t last_signal_handled_ns();
uint64_t last_signal_duration_ns();

constexpr int kInterruptSignal =
    23;  // SIGURG: ignored by default, restarts system calls, used by nobody else here

// The unit is in a closer or in a defer: it must not be disturbed before the cut.
bool is_cleaning_up(const Unit* unit);

// The value that a hard stop raises. Like CANCEL it exists before it is needed: a raise must not allocate.
void push_kill(lua_State* L);
bool is_kill(lua_State* L, int index);

}  // namespace panto

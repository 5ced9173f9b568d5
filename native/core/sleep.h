// panto.async.sleep: an await on a libuv timer.
#pragma once

#include "lua.hpp"

namespace panto {

struct Waiter;

// Lua: sleep(seconds)
int sleep(lua_State* L);

// Closes the timer of a sleep that nobody waits for any more.
void cancel_sleep(Waiter* waiter);

}  // namespace panto

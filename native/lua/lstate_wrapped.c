/* Lua's lstate.c with lua_closethread renamed; native/core/chain.cc defines lua_closethread around it.

   Why a wrapper: closing runs Lua code, so it belongs to the chain and can be interrupted. Upstream also
   forgets to reset the message handler of a coroutine that is closed inside xpcall; a __close that raises
   then calls through a stale stack offset (a memory fault of 5.4.7 that plain Lua code can reach). */
#define lua_closethread panto_upstream_closethread
#include "lstate.c"

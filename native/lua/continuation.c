/* The only look into Lua's own structures: which C continuation a suspended coroutine waits in. */
#define LUA_CORE
#include "lprefix.h"

#include "continuation.h"

#include "lstate.h"

lua_KFunction panto_continuation(lua_State *co) {
  if (lua_status(co) != LUA_YIELD || isLua(co->ci)) return NULL;
  return co->ci->u.c.k;
}

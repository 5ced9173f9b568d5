/* Lua's lgc.c with the protected call of finalizers replaced.

   Why a wrapper: the collector runs __gc wherever memory happens to be allocated, with hooks off. A finalizer
   written in Lua would be charged to whoever allocates just then, and could not be interrupted. Those are
   moved to a queue, and run later in a task of their own. Finalizers written in C run in place. */
#define lgc_c
#define LUA_CORE
#include "lprefix.h"

#include "ldo.h"
#include "lobject.h"
#include "lstate.h"
#include "lua/interrupt.h"

static int call_finalizer(lua_State *L, Pfunc function, void *data, ptrdiff_t old_top, ptrdiff_t errfunc) {
  if (ttisLclosure(s2v(L->top.p - 2)) && panto_defer_finalizer(L)) return LUA_OK;
  return luaD_pcall(L, function, data, old_top, errfunc);
}

#define luaD_pcall call_finalizer
#include "lgc.c"

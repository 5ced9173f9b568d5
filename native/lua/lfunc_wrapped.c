/* Lua's lfunc.c with luaF_close renamed and wrapped.

   Why a wrapper: code that runs to clean up must not be interrupted before its time. The frame that closes
   its variables is marked while it does; an interrupt looks for the mark on the stack. */
#define luaF_close panto_upstream_luaF_close
#include "lfunc.c"
#undef luaF_close

#include "lua/interrupt.h"

/* The mark stays when a closer yields or raises: then luaF_close is called again for this frame, or the frame
 * is gone. */
StkId luaF_close(lua_State *L, StkId level, int status, int yieldable) {
  if (L->tbclist.p < level)
    return panto_upstream_luaF_close(L, level, status, yieldable); /* nothing to call */
  CallInfo *ci = L->ci;
  ci->callstatus |= PANTO_CLOSING;
  level = panto_upstream_luaF_close(L, level, status, yieldable);
  ci->callstatus &= ~PANTO_CLOSING;
  return level;
}

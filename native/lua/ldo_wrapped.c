/* Lua's ldo.c with lua_resume renamed; native/core/chain.cc defines lua_resume around it. The source itself
   is not changed.

   Why a wrapper: the runtime must see every start and end of a coroutine, and an error that nobody catches in
   a coroutine must be able to close its <close> variables while they still may yield. Upstream closes them in
   lua_closethread only, which cannot yield: a cancelled task that stands in a generator could not clean up
   with anything that waits. */
#define lua_resume panto_upstream_resume
#include "ldo.c"
#undef lua_resume

#include "lua/resume.h"

static void close_variables(lua_State *L, void *status) {
  luaF_close(L, L->stack.p + 1, *(int *)status, 1);
}

/* The state is at its base level with the error `pending`: closes what is open, as far as it gets. LUA_YIELD:
 * a closer waits. */
static int close_at_base(lua_State *L, lua_State *from, int pending) {
  L->status = LUA_OK;
  L->ci = &L->base_ci;
  L->allowhook = 1;
  L->errfunc = 0;                     /* an offset into a stack that has been unwound */
  setcistrecst(&L->base_ci, pending); /* survives the yields of closers; unused at base level otherwise */
  L->nCcalls = (from != NULL ? getCcalls(from) : 0) + 1;
  return luaD_rawrunprotected(L, close_variables, &pending);
}

/* Leaves the coroutine dead with its error twice on the stack: whoever resumed it takes one, lua_closethread
 * reads the other. */
static int die(lua_State *L, int status, int *nresults) {
  setcistrecst(&L->base_ci, LUA_OK);
  L->status = cast_byte(status);
  luaD_seterrorobj(L, status, L->stack.p + 1);
  setobjs2s(L, L->top.p, L->top.p - 1);
  L->top.p++;
  L->ci->top.p = L->top.p;
  *nresults = 1;
  return status;
}

int panto_resume(lua_State *L, lua_State *from, int nargs, int *nresults,
                 int (*closes_at_base)(lua_State *)) {
  int pending =
      getcistrecst(&L->base_ci); /* not LUA_OK: a closer at base level has yielded and goes on now */
  int status = panto_upstream_resume(L, from, nargs, nresults);
  for (;;) {
    int failed = status != LUA_OK && status != LUA_YIELD;
    if (status == LUA_YIELD) return status;
    if (pending == LUA_OK) {
      int dead = failed && L->status == status; /* else the resume itself was refused */
      if (!dead || L->tbclist.p <= L->stack.p || !closes_at_base(L)) return status;
    }
    if (failed) pending = status;
    status = close_at_base(L, from, pending);
    if (status == LUA_OK) return die(L, pending, nresults);
    if (status == LUA_YIELD) {
      *nresults = L->ci->u2.nyield;
      return status;
    }
    status = precover(L, status);
    L->ci = status == LUA_YIELD ? L->ci : &L->base_ci;
    if (status == LUA_YIELD) {
      *nresults = L->ci->u2.nyield;
      return status;
    }
  }
}

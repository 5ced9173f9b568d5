#define LUA_CORE
#include "lprefix.h"

#include "lua/interrupt.h"

#include "lobject.h"
#include "lstate.h"

/* CALL for loops that call only C functions, COUNT for all else. */
#define PANTO_HOOK_MASK (LUA_MASKCALL | LUA_MASKCOUNT)
/* A stack overflow has 200,000 frames. Trapping all of them takes longer than a tick of the watchdog, and the
   thread would live in the signal handler. Frames further out are trapped by a later signal. */
#define PANTO_MAX_TRAPPED 100

#ifdef PANTO_POLLED_INTERRUPTS
int panto_poll_flag = 1;
#else
int panto_poll_flag = 0;
#endif

static __thread lua_State *finalizer_queue = NULL;

/* Not lua_sethook, which walks all frames. */
void panto_arm(lua_State *L, lua_Hook hook) {
  L->hook = hook;
  L->basehookcount = 1;
  L->hookcount = 1;
  L->hookmask = PANTO_HOOK_MASK;
  int trapped = 0;
  for (CallInfo *ci = L->ci; ci != NULL && trapped < PANTO_MAX_TRAPPED; ci = ci->previous, trapped++) {
    if (isLua(ci)) ci->u.l.trap = 1;
  }
}

void panto_rearm(lua_State *L, int instructions) {
  L->basehookcount = L->hookcount = instructions;
}

void panto_forget_handler(lua_State *L) {
  L->errfunc = 0;
}

void panto_allow_hooks(lua_State *L) {
  L->allowhook = 1;
}

int panto_in_closer(lua_State *L) {
  for (CallInfo *ci = L->ci->previous; ci != NULL; ci = ci->previous) {
    if (ci->callstatus & PANTO_CLOSING) return 1;
  }
  return 0;
}

void panto_set_finalizer_queue(lua_State *queue) {
  finalizer_queue = queue;
}

int panto_defer_finalizer(lua_State *L) {
  if (finalizer_queue == NULL || G(finalizer_queue) != G(L) || !lua_checkstack(finalizer_queue, 3)) return 0;
  lua_xmove(L, finalizer_queue, 2);
  return 1;
}

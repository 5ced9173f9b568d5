/* What interrupting needs of Lua's own structures. native/core/interrupt.cc decides, this looks and sets. */
#ifndef PANTO_INTERRUPT_H
#define PANTO_INTERRUPT_H
#include "lua.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A bit of CallInfo.callstatus that 5.4.7 does not use: the frame is closing its variables. */
#define PANTO_CLOSING (1 << 14)

/* Set while some task of this process is to be stopped. Read by loops in C, also on libuv's threads. */
extern int panto_poll_flag;
/* Decides, and raises where the running code is to be stopped. */
void panto_poll(void);
#define PANTO_POLL() \
  ((void)(__builtin_expect(__atomic_load_n(&panto_poll_flag, __ATOMIC_RELAXED), 0) && (panto_poll(), 0)))

/* Arms `L`: `hook` is called at the next instruction or call. Async-signal-safe on the thread that runs `L`.
 */
void panto_arm(lua_State *L, lua_Hook hook);
/* The hook is called again after that many instructions. */
void panto_rearm(lua_State *L, int instructions);
/* Before a raise out of a hook, and before a close: no message handler, hooks allowed. */
void panto_forget_handler(lua_State *L);
void panto_allow_hooks(lua_State *L);
/* Whether some frame of `L` is closing its variables and called what runs now. */
int panto_in_closer(lua_State *L);

/* Where finalizers written in Lua go: pairs of function and object on the stack of `queue`. Per thread; NULL:
 * they run in place. */
void panto_set_finalizer_queue(lua_State *queue);
/* Moves function and object from the top of `L` to the queue. 0: there is none. */
int panto_defer_finalizer(lua_State *L);

#ifdef __cplusplus
}
#endif
#endif

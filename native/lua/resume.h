#ifndef PANTO_RESUME_H
#define PANTO_RESUME_H
#include "lua.h"

#ifdef __cplusplus
extern "C" {
#endif

/* lua_resume as upstream has it. Where the coroutine dies of an error for which `closes_at_base` is true (the
   error is on top), its <close> variables are closed here and may yield; they would stay open until
   lua_closethread otherwise. */
int panto_resume(lua_State *L, lua_State *from, int nargs, int *nresults,
                 int (*closes_at_base)(lua_State *L));

/* lua_closethread as upstream has it. */
int panto_upstream_closethread(lua_State *L, lua_State *from);

#ifdef __cplusplus
}
#endif
#endif

#ifndef PANTO_CONTINUATION_H
#define PANTO_CONTINUATION_H
#include "lua.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The continuation of the C function in which `co` yielded; NULL if it is not suspended or yielded from Lua
 * code. */
lua_KFunction panto_continuation(lua_State *co);

#ifdef __cplusplus
}
#endif
#endif

/* Lua's ltablib.c, polling for an interrupt.

   Why a wrapper: sort, concat, move, insert and remove on huge tables are one C call each. All of them read
   through lua_geti. */
#define ltablib_c
#define LUA_LIB
#include "lprefix.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "lauxlib.h"
#include "lua.h"
#include "lua/interrupt.h"
#include "lualib.h"

#define lua_geti(L, index, i) (PANTO_POLL(), (lua_geti)(L, index, i))
#include "ltablib.c"

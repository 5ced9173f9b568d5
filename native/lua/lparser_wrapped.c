/* Lua's lparser.c, polling for an interrupt.

   Why a wrapper: load of a huge text, or of an endless reader, is one C call. Every token passes through
   luaX_next. */
#define lparser_c
#define LUA_CORE
#include "lprefix.h"

#include "llex.h"
#include "lua.h"
#include "lua/interrupt.h"

#define luaX_next(ls) (PANTO_POLL(), (luaX_next)(ls))
#include "lparser.c"

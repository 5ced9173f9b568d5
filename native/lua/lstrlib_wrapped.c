/* Lua's lstrlib.c, polling for an interrupt.

   Why a wrapper: pattern matching, string.rep and plain find of huge texts are one C call each, which no hook
   interrupts. The macros below stand in the innermost loops of those functions. */
#define lstrlib_c
#define LUA_LIB
#include "lprefix.h"

#include <ctype.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lauxlib.h"
#include "lua.h"
#include "lua/interrupt.h"
#include "lualib.h"

#undef l_unlikely
#define l_unlikely(x) (PANTO_POLL(), luai_unlikely(x))
#undef memchr
#define memchr(s, c, n) (PANTO_POLL(), (memchr)(s, c, n))
#undef memcpy
#define memcpy(to, from, n) (PANTO_POLL(), (memcpy)(to, from, n))
#include "lstrlib.c"

/* Lua's ldo.c with lua_resume renamed: native/core/chain.cc defines lua_resume around it, and so sees every
   end of a task, whoever resumed it. The source itself is not changed. */
#define lua_resume panto_base_resume
#include "ldo.c"

/* Included before every source of the addon, which is compiled with hidden visibility. Lua's own sources are
   C and stay visible: C rocks find lua_* and luaL_* in the addon. (LUA_API is a plain extern; a forced lua.h
   would come before LUA_CORE.) */
#ifndef __cplusplus
/* Lua leaves the extra space of a main state as malloc gave it. native/core/chain.cc reads it in every state,
   also in those that lua.c and luv's threads create. */
#define luai_userstateopen(L) (*(void **)lua_getextraspace(L) = NULL)
#pragma GCC visibility push(default)
#endif

/* Included before every source of the addon, which is compiled with hidden visibility. Lua's own sources are
   C and stay visible: C rocks find lua_* and luaL_* in the addon. (LUA_API is a plain extern; a forced lua.h
   would come before LUA_CORE.) */
#ifndef __cplusplus
#pragma GCC visibility push(default)
#endif

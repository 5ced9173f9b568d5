// coroutine.resume and coroutine.wrap that let an await through. Everything else is Lua's own.
#pragma once

#include "lua.hpp"

namespace panto {

// Replaces resume and wrap in the global coroutine table. Protected.
void open_coroutine_lib(lua_State* L);

// The continuation in which a coroutine stands while one that it resumed waits in an await; that one is at
// stack index 1.
int coroutine_resumed(lua_State* L, int status, lua_KContext is_wrap);

}  // namespace panto

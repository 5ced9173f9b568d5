// uv.spawn for extensions: children get a session of their own and end with panto, unless `detached` was
// asked for.
#pragma once

#include "lua.hpp"

namespace panto {

// Lua: uv.spawn(path, options, on_exit). Upvalue 1: luv's own.
int spawn_kept(lua_State* L);

}  // namespace panto

// luv inside the runtime: loaded from the tree onto our loop, with a callback runner that survives every
// error and knows for which extension a callback was registered.
#pragma once

#include <string>

#include "lua.hpp"

namespace panto {

// Puts the loader of luv into package.preload, as "luv" and "uv". Protected.
void open_luv(lua_State* L, const std::string& luv_file);

// Closes every handle that luv has made on this state. Does not raise.
void close_luv_handles(lua_State* L);

}  // namespace panto

#include "core/uv_spawn.h"

#include "core/children.h"

namespace panto {
namespace {

constexpr int kOptions = 2;

// Replaces the table on top of the stack by a shallow copy.
void copy_table(lua_State* L) {
  int original = lua_gettop(L);
  lua_newtable(L);
  if (lua_getmetatable(L, original)) lua_setmetatable(L, -2);
  lua_pushnil(L);
  while (lua_next(L, original)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);  // stack: original, copy, key, key, value
    lua_rawset(L, original + 1);
  }
  lua_replace(L, original);
}

// Panto's standard input is not theirs: they would take keys from the terminal. An entry that is missing is
// /dev/null. stack: options on top
void withhold_input(lua_State* L) {
  if (lua_getfield(L, -1, "stdio") != LUA_TTABLE) {
    lua_pop(L, 1);
    return;
  }
  copy_table(L);
  lua_Integer length = luaL_len(L, -1);
  for (lua_Integer i = 1; i <= length; i++) {
    bool is_input = lua_geti(L, -1, i) == LUA_TNUMBER && lua_tointeger(L, -1) == 0;
    lua_pop(L, 1);
    if (!is_input) continue;
    lua_pushnil(L);
    lua_seti(L, -2, i);
  }
  lua_setfield(L, -2, "stdio");
}

}  // namespace

int spawn_kept(lua_State* L) {
  lua_settop(L, 3);
  bool keeps = false;
  if (lua_istable(L, kOptions)) {
    lua_pushvalue(L, kOptions);
    copy_table(L);
    withhold_input(L);
    lua_getfield(L, -1, "detached");
    keeps = !lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (keeps) {
      lua_pushboolean(L, 1);
      lua_setfield(L, -2, "detached");
    }
    lua_replace(L, kOptions);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (!keeps) {
    lua_call(L, 3, LUA_MULTRET);
    return lua_gettop(L);
  }
  int status = LUA_OK;
  bool started = start_child([&] {
    status = lua_pcall(L, 3, LUA_MULTRET, 0);  // leaves handle, pid; or nil, message, name
    bool has_child = status == LUA_OK && lua_isuserdata(L, 1);
    return has_child ? static_cast<pid_t>(lua_tointeger(L, 2)) : -1;
  });
  if (!started) return luaL_error(L, "the Lua runtime is closing");
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

}  // namespace panto

#include "core/coroutine_lib.h"

#include "core/await.h"
#include "core/chain.h"

namespace panto {
namespace {

constexpr const char* kWaits = "cannot resume a coroutine that waits in await";

// Resumes `co` with the `nargs` values on top of `L`. Leaves results or the error on `L`; returns their
// number, -1 for an error.
int resume(lua_State* L, lua_State* co, int nargs) {
  if (!lua_checkstack(co, nargs)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, nargs);
  int count = 0;
  int status = lua_resume(co, L, nargs, &count);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, count + 1)) {
    lua_pop(co, count);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, count);
  return count;
}

// As coroutine.wrap does: the coroutine is closed, and text gets the position of the caller.
int rethrow(lua_State* L, lua_State* co) {
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) {
    status = lua_closethread(co, L);
    lua_xmove(co, L, 1);
  }
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

// stack: co, arguments…
int resume_through_awaits(lua_State* L, bool is_wrap) {
  lua_State* co = lua_tothread(L, 1);
  int count = resume(L, co, lua_gettop(L) - 1);
  if (count >= 0 && is_await_mark(L, co, count)) {
    lua_settop(L, 1);
    if (task_of_root(co) != nullptr) {
      // A root that somebody resumed by hand waits for the scheduler now; its resumer goes on.
      count = 0;
    } else if (current_task() != nullptr || lua_isyieldable(L)) {
      if (!lua_isyieldable(L)) {
        return luaL_error(L, "cannot await here: the coroutine was resumed where its resumer cannot yield");
      }
      push_await_mark(L);
      return lua_yieldk(L, 1, is_wrap, coroutine_resumed);
    } else {
      adopt_orphan(L, co);
      count = 0;
    }
  }
  if (is_wrap) return count < 0 ? rethrow(L, co) : count;
  if (count < 0) {
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
  }
  lua_pushboolean(L, 1);
  lua_insert(L, -(count + 1));
  return count + 1;
}

int coroutine_resume(lua_State* L) {
  lua_State* co = lua_tothread(L, 1);
  luaL_argexpected(L, co, 1, "coroutine");
  if (waits_in_await(co)) {
    lua_pushboolean(L, 0);
    lua_pushstring(L, kWaits);
    return 2;
  }
  return resume_through_awaits(L, false);
}

int wrapped(lua_State* L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (waits_in_await(lua_tothread(L, 1))) return luaL_error(L, kWaits);
  return resume_through_awaits(L, true);
}

int coroutine_wrap(lua_State* L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State* co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, wrapped, 1);
  return 1;
}

}  // namespace

int coroutine_resumed(lua_State* L, int, lua_KContext is_wrap) {
  return resume_through_awaits(L, is_wrap != 0);
}

void open_coroutine_lib(lua_State* L) {
  lua_getglobal(L, LUA_COLIBNAME);
  lua_pushcfunction(L, coroutine_resume);
  lua_setfield(L, -2, "resume");
  lua_pushcfunction(L, coroutine_wrap);
  lua_setfield(L, -2, "wrap");
  lua_pop(L, 1);
}

}  // namespace panto

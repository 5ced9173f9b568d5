#include "core/luv_bridge.h"

#include <dlfcn.h>
#include <uv.h>

#include <atomic>
#include <string_view>

#include "core/await.h"
#include "core/chain.h"
#include "core/errors.h"
#include "core/interrupt.h"
#include "core/runtime.h"
#include "core/uv_spawn.h"

namespace panto {
namespace {

// luv's interface, as its luv.h declares it; looked up in the tree's luv.so.
using Runner = int (*)(lua_State* L, int nargs, int nresults, int flags);
using ThreadRunner = int (*)(lua_State* L, lua_CFunction function, void* data, int flags);
using AcquireState = lua_State* (*)();
using ReleaseState = void (*)(lua_State* L);
struct Context {
  uv_loop_t* loop;
  lua_State* L;
  Runner callback;
  Runner thread;
  ThreadRunner thread_c;
  int mode;
  // more follows, which only luv touches
};
struct Luv {
  void (*set_loop)(lua_State*, uv_loop_t*);
  void (*set_callback)(lua_State*, Runner);
  void (*set_thread)(lua_State*, Runner);
  void (*set_cthread)(lua_State*, ThreadRunner);
  void (*set_thread_cb)(AcquireState, ReleaseState);
  Context* (*context)(lua_State*);
  lua_CFunction open;
};

// Valid once luv has been loaded; the library is never unloaded.
Luv luv;

// The runtime that threads of luv report to.
std::atomic<Runtime*> host{nullptr};

const char kOwnersKey = 0;  // registry: weak table, callback function -> extension id
const char kUvKey = 0;      // registry: the luv module

template <typename T>
bool look_up(void* library, const char* name, T* out) {
  *out = reinterpret_cast<T>(dlsym(library, name));
  return *out != nullptr;
}

// Runs a luv callback: function and arguments are on top of the main state. Returns the number of results, or
// minus the status.
int run_callback(lua_State* L, int nargs, int nresults, int) {
  Runtime* runtime = Runtime::current();
  int function = lua_gettop(L) - nargs;
  if (runtime == nullptr || !runtime->runs_callbacks() || !lua_checkstack(L, 4)) {
    lua_settop(L, function - 1);
    return -LUA_ERRRUN;
  }
  int outer_owner = runtime->callback_owner;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kOwnersKey);
  lua_pushvalue(L, function);
  lua_rawget(L, -2);
  int owner = static_cast<int>(lua_tointeger(L, -1));
  lua_pop(L, 2);
  runtime->callback_owner = owner;

  lua_pushcfunction(L, record_failure);
  lua_insert(L, function);
  Unit unit;
  unit.id = unit.root_id = runtime->scheduler().next_id();
  unit.owner = owner;
  int status = LUA_OK;
  {
    ScopedFrame frame(L, &unit);
    status = lua_pcall(L, nargs, nresults, function);
  }
  if (unit.at_least(Phase::kSoft)) disarm(L);
  lua_remove(L, function);
  int results = 0;
  if (status == LUA_OK) {
    results = nresults == LUA_MULTRET ? lua_gettop(L) - function + 1 : nresults;
  } else {
    bool stopped = unit.at_least(Phase::kSoft) && (is_kill(L, -1) || is_cancel(L, -1));
    if (stopped) {
      std::string text =
          "a callback was stopped: it ran for more than " + runtime->hold_limit_text() + " (lua.hold_limit)";
      runtime->callback_failure = Failure{"timeout", text, {}, {}};
    } else if (status != LUA_ERRRUN) {
      const char* text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "error in error handling";
      runtime->callback_failure = Failure{status == LUA_ERRMEM ? "out_of_memory" : "failed", text, {}, {}};
    }
    lua_pop(L, 1);
    runtime->report(runtime->callback_failure, owner);
    results = -status;
  }
  // Tasks that the callback has woken run once it has returned.
  if (chain_top() == nullptr) runtime->scheduler().run_ready();
  runtime->callback_owner = outer_owner;
  return results;
}

// For states of uv.new_thread and uv.new_work, on libuv's threads: an error ends the job, not the process.
int run_on_thread(lua_State* L, int nargs, int nresults, int) {
  int top = lua_gettop(L) - nargs - 1;
  int status = lua_pcall(L, nargs, nresults, 0);
  if (status == LUA_OK) return nresults == LUA_MULTRET ? lua_gettop(L) - top : nresults;
  Failure failure;
  failure.message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
  failure.where = "a luv thread";
  lua_settop(L, top);
  host.load()->send_event(Event{EventKind::kProblem, 0, {}, failure_json(failure, {})});
  return -status;
}

int run_c_on_thread(lua_State* L, lua_CFunction function, void* data, int flags) {
  lua_pushcfunction(L, function);
  lua_pushlightuserdata(L, data);
  return run_on_thread(L, 1, 0, flags);
}

// Protected.
int open_thread_state(lua_State* L) {
  luaL_openlibs(L);
  luv.set_thread(L, run_on_thread);
  luv.set_cthread(L, run_c_on_thread);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luv.open(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "luv");
  lua_setfield(L, -2, "uv");
  return 0;
}

lua_State* acquire_thread_state() {
  lua_State* L = luaL_newstate();
  if (L == nullptr) return nullptr;
  lua_pushcfunction(L, open_thread_state);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_settop(L, 0);
  return L;
}

// Stands in for each function of luv: notes whose callbacks it is given, then is that function. While the
// state closes (finalizers run, and nothing that they start would find a state to come back to) only what is
// done at once is permitted. Upvalue 1: the function; 2: whether it is done at once when it has no callback.
int attributed(lua_State* L) {
  int count = lua_gettop(L);
  bool has_callback = false;
  for (int i = 1; i <= count; i++) {
    if (!lua_isfunction(L, i)) continue;
    has_callback = true;
    luaL_checkstack(L, 3, nullptr);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kOwnersKey);
    lua_pushvalue(L, i);
    lua_pushinteger(L, Runtime::current()->current_owner());
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  bool at_once = lua_toboolean(L, lua_upvalueindex(2)) && !has_callback;
  if (!at_once && !Runtime::current()->runs_callbacks()) return luaL_error(L, "the Lua runtime is closing");
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

// Replaces the C functions of the table on top of the stack by attributed ones.
void attribute_functions(lua_State* L) {
  int table = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, table)) {
    if (lua_iscfunction(L, -1) && lua_type(L, -2) == LUA_TSTRING) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);  // stack: table, key, key, function
      bool is_file_operation = std::string_view(lua_tostring(L, -2)).substr(0, 3) == "fs_";
      lua_pushboolean(L, is_file_operation);
      lua_pushcclosure(L, attributed, 2);
      lua_rawset(L, table);
    } else {
      lua_pop(L, 1);
    }
  }
}

// The methods of luv's userdata are the same functions once more.
void attribute_methods(lua_State* L) {
  lua_pushnil(L);
  while (lua_next(L, LUA_REGISTRYINDEX)) {
    bool is_metatable =
        lua_type(L, -2) == LUA_TSTRING && std::string_view(lua_tostring(L, -2)).substr(0, 3) == "uv_";
    if (is_metatable && lua_istable(L, -1)) {
      if (lua_getfield(L, -1, "__index") == LUA_TTABLE) attribute_functions(L);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
}

// uv.walk of luv takes its function from the main state's stack, so it must be called there. Upvalue 1: luv's
// own.
int walk(lua_State* L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State* main = lua_tothread(L, -1);
  if (!lua_checkstack(main, 4)) return luaL_error(L, "the Lua stack is full");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  if (main == L) {
    lua_call(L, 1, 0);
    return 0;
  }
  lua_xmove(L, main, 2);
  if (lua_pcall(main, 1, 0, 0) == LUA_OK) return 0;
  lua_xmove(main, L, 1);
  return lua_error(L);
}

// package.preload.luv. Upvalue 1: path of luv.so
int load_luv(lua_State* L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kUvKey) == LUA_TTABLE) return 1;
  const char* file = lua_tostring(L, lua_upvalueindex(1));
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return luaL_error(L, "luv is not there (%s); run: panto bootstrap", dlerror());
  bool complete = look_up(library, "luv_set_loop", &luv.set_loop) &&
                  look_up(library, "luv_set_callback", &luv.set_callback) &&
                  look_up(library, "luv_set_thread", &luv.set_thread) &&
                  look_up(library, "luv_set_cthread", &luv.set_cthread) &&
                  look_up(library, "luv_set_thread_cb", &luv.set_thread_cb) &&
                  look_up(library, "luv_context", &luv.context) && look_up(library, "luaopen_luv", &luv.open);
  if (!complete) return luaL_error(L, "%s is not luv (%s); run: panto bootstrap --force", file, dlerror());

  host = Runtime::current();
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State* main = lua_tothread(L, -1);
  luv.set_loop(main, Runtime::current()->loop());
  luv.set_callback(main, run_callback);
  luv.context(main)->mode = UV_RUN_DEFAULT;  // uv.run must not enter the loop again
  luv.open(L);
  luv.set_thread_cb(acquire_thread_state, [](lua_State* state) { lua_close(state); });
  attribute_methods(L);
  attribute_functions(L);
  lua_getfield(L, -1, "walk");
  lua_pushcclosure(L, walk, 1);
  lua_setfield(L, -2, "walk");
  lua_getfield(L, -1, "spawn");
  lua_pushcclosure(L, spawn_kept, 1);
  lua_setfield(L, -2, "spawn");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kUvKey);
  return 1;
}

// Protected.
int close_all(lua_State* L) {
  static const char* const chunk =
      "local uv = ... uv.walk(function(handle) if not uv.is_closing(handle) then uv.close(handle) end end)";
  if (luaL_loadstring(L, chunk) != LUA_OK) return lua_error(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kUvKey);
  lua_call(L, 1, 0);
  return 0;
}

}  // namespace

void open_luv(lua_State* L, const std::string& luv_file) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kOwnersKey);

  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushlstring(L, luv_file.data(), luv_file.size());
  lua_pushcclosure(L, load_luv, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "luv");
  lua_setfield(L, -2, "uv");
  lua_pop(L, 1);
}

void close_luv_handles(lua_State* L) {
  lua_settop(L, 0);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kUvKey) != LUA_TTABLE) {
    lua_pop(L, 1);
    return;
  }
  lua_pop(L, 1);
  lua_pushcfunction(L, close_all);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_pop(L, 1);
}

}  // namespace panto

#include "core/core_lib.h"

#include <uv.h>

#include <cmath>
#include <cstring>

#include "core/await.h"
#include "core/chain.h"
#include "core/json.h"
#include "core/runtime.h"
#include "core/sleep.h"
#include "core/spawn.h"
#include "core/text.h"

namespace panto {
namespace {

const char kCoreKey = 0;
const char kControlKey = 0;
const char kCallKey = 0;

// panto.Call: names its task, which may have settled. The two strings follow the struct.
struct CallObject {
  Token token;
  size_t id_length;
  size_t tool_length;
};

CallObject* check_call(lua_State* L, int index) {
  auto* call = static_cast<CallObject*>(lua_touserdata(L, index));
  bool is_call = call != nullptr && lua_getmetatable(L, index) &&
                 lua_rawgetp(L, LUA_REGISTRYINDEX, &kCallKey) == LUA_TTABLE && lua_rawequal(L, -1, -2);
  luaL_argexpected(L, is_call, index, "panto.Call");
  lua_pop(L, 2);
  return call;
}

// Lua: call:update(partial)
int call_update(lua_State* L) {
  CallObject* call = check_call(L, 1);
  luaL_argexpected(L, lua_type(L, 2) == LUA_TSTRING || lua_type(L, 2) == LUA_TTABLE, 2, "string or table");
  Task* task = Runtime::current()->scheduler().find(call->token);
  if (task == nullptr) return 0;
  auto* text = new std::string;
  auto* error = new std::string;
  bool ok = encode_json(L, 2, "update", JsonEncoding::kToolResult, {}, text, error);
  if (ok) {
    task->scheduler->update(task, std::move(*text));
  } else {
    lua_pushlstring(L, error->data(), error->size());
  }
  delete text;
  delete error;
  return ok ? 0 : lua_error(L);
}

// Lua: call:remaining() -> seconds
int call_remaining(lua_State* L) {
  CallObject* call = check_call(L, 1);
  Runtime* runtime = Runtime::current();
  Task* task = runtime->scheduler().find(call->token);
  lua_pushnumber(L, task == nullptr ? 0 : std::fmax(0, runtime->seconds_until(task->deadline_ms)));
  return 1;
}

int call_index(lua_State* L) {
  CallObject* call = check_call(L, 1);
  const char* key = luaL_checkstring(L, 2);
  const char* strings = reinterpret_cast<const char*>(call + 1);
  if (std::strcmp(key, "id") == 0) {
    lua_pushlstring(L, strings, call->id_length);
  } else if (std::strcmp(key, "tool") == 0) {
    lua_pushlstring(L, strings + call->id_length, call->tool_length);
  } else if (std::strcmp(key, "update") == 0) {
    lua_pushcfunction(L, call_update);
  } else if (std::strcmp(key, "remaining") == 0) {
    lua_pushcfunction(L, call_remaining);
  } else if (std::strcmp(key, "cwd") == 0) {
    lua_pushstring(L, Runtime::current()->options().cwd.c_str());
  } else if (std::strcmp(key, "session") == 0) {
    lua_pushstring(L, Runtime::current()->options().session.c_str());
  } else {
    lua_pushnil(L);
  }
  return 1;
}

// core.defer(fn) -> off(): fn runs when the current task ends, however it ends
int defer(lua_State* L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  Task* task = current_task();
  if (task == nullptr) return luaL_error(L, "defer outside a task");
  if (task->stage == Task::Stage::kDefers) return luaL_error(L, "defer in a task that is ending");
  lua_settop(L, 1);
  lua_pushinteger(L, static_cast<lua_Integer>(task->id));
  lua_pushvalue(L, 1);
  lua_pushinteger(L, add_defer(L, task));
  lua_pushcclosure(
      L,
      [](lua_State* state) {
        UnitId id = static_cast<UnitId>(lua_tointeger(state, lua_upvalueindex(1)));
        Task* owner = Runtime::current()->scheduler().find(id);
        if (owner != nullptr)
          remove_defer(state, owner, static_cast<int>(lua_tointeger(state, lua_upvalueindex(2))));
        return 0;
      },
      2);
  return 1;
}

int all_results(lua_State* L, int, lua_KContext) {
  return lua_gettop(L);
}

// core.c_function(fn): the same as a C function. A tail call of it keeps the line that called on the stack.
int c_function(lua_State* L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushcclosure(
      L,
      [](lua_State* state) {
        lua_pushvalue(state, lua_upvalueindex(1));
        lua_insert(state, 1);
        lua_callk(state, lua_gettop(state) - 1, LUA_MULTRET, 0, all_results);
        return lua_gettop(state);
      },
      1);
  return 1;
}

// core.define_extension(id, name, source_prefix)
int define_extension(lua_State* L) {
  lua_Integer id = luaL_checkinteger(L, 1);
  const char* name = luaL_checkstring(L, 2);
  const char* prefix = luaL_checkstring(L, 3);
  Runtime::current()->define_extension(static_cast<int>(id), Extension{name, prefix});
  return 0;
}

int forget_extension(lua_State* L) {
  Runtime::current()->forget_extension(static_cast<int>(luaL_checkinteger(L, 1)));
  return 0;
}

// core.owner() -> id of the extension that runs
int owner(lua_State* L) {
  lua_pushinteger(L, Runtime::current()->current_owner());
  return 1;
}

// core.set_owner(id): the running task, or callback, goes on for that extension
int set_owner(lua_State* L) {
  int id = static_cast<int>(luaL_checkinteger(L, 1));
  Task* task = current_task();
  if (task != nullptr) {
    task->owner = id;
  } else {
    Runtime::current()->callback_owner = id;
  }
  return 0;
}

// core.post(name, value): a message to the JS side
int post(lua_State* L) {
  size_t length = 0;
  const char* name = luaL_checklstring(L, 1, &length);
  auto* event = new Event{EventKind::kPost};
  auto* error = new std::string;
  event->name.assign(name, length);
  bool ok = encode_json(L, 2, "message", JsonEncoding::kMessage, {}, &event->body, error);
  if (ok) {
    Runtime::current()->send_event(std::move(*event));
  } else {
    lua_pushlstring(L, error->data(), error->size());
  }
  delete event;
  delete error;
  return ok ? 0 : lua_error(L);
}

// core.json_encode(value, pretty?, sort_keys?) -> text | nil, err
int json_encode(lua_State* L) {
  luaL_checkany(L, 1);
  auto* out = new std::string;
  auto* error = new std::string;
  JsonLayout layout{lua_toboolean(L, 2) != 0, lua_toboolean(L, 3) != 0};
  bool ok = encode_json(L, 1, "value", JsonEncoding::kExact, layout, out, error);
  if (!ok) lua_pushnil(L);
  // A raise of pushlstring (memory) leaks these two; nothing else does.
  lua_pushlstring(L, ok ? out->data() : error->data(), ok ? out->size() : error->size());
  delete out;
  delete error;
  return ok ? 1 : 2;
}

int push_document(lua_State* L) {
  push_json(L, static_cast<JsonDocument*>(lua_touserdata(L, 1))->root());
  return 1;
}

// core.json_decode(text) -> value | nil, err
int json_decode(lua_State* L) {
  size_t length = 0;
  const char* text = luaL_checklstring(L, 1, &length);
  auto* document = new JsonDocument;
  auto* error = new std::string;
  int results = 1;
  if (document->parse({text, length}, "text", error)) {
    lua_pushcfunction(L, push_document);
    lua_pushlightuserdata(L, document);
    int status = lua_pcall(L, 1, 1, 0);
    delete document;
    delete error;
    return status == LUA_OK ? 1 : lua_error(L);
  }
  lua_pushnil(L);
  lua_pushlstring(L, error->data(), error->size());
  results = 2;
  delete document;
  delete error;
  return results;
}

// core.valid_utf8(text) -> text
int valid_utf8(lua_State* L) {
  size_t length = 0;
  const char* text = luaL_checklstring(L, 1, &length);
  lua_settop(L, 1);
  if (is_valid_utf8({text, length})) return 1;
  auto* fixed = new std::string(to_valid_utf8({text, length}));
  lua_pushlstring(L, fixed->data(), fixed->size());
  delete fixed;
  return 1;
}

// core.is_cancel(err) -> boolean
int lua_is_cancel(lua_State* L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, is_cancel(L, 1));
  return 1;
}

// core.task() -> number of the running task; 0 outside every task
int task(lua_State* L) {
  Task* running = current_task();
  lua_pushinteger(L, running != nullptr ? static_cast<lua_Integer>(running->id) : 0);
  return 1;
}

// core.asking(n): a question to the host has been opened (1) or closed (-1)
int asking(lua_State* L) {
  Runtime::current()->scheduler().asking += static_cast<int>(luaL_checkinteger(L, 1));
  return 0;
}

const luaL_Reg kFunctions[] = {
    {"await", await},
    {"sleep", sleep},
    {"defer", defer},
    {"is_cancel", lua_is_cancel},
    {"task", task},
    {"c_function", c_function},
    {"asking", asking},
    {"define_extension", define_extension},
    {"forget_extension", forget_extension},
    {"owner", owner},
    {"set_owner", set_owner},
    {"post", post},
    {"json_encode", json_encode},
    {"json_decode", json_decode},
    {"valid_utf8", valid_utf8},
    {nullptr, nullptr},
};

}  // namespace

void open_core_lib(lua_State* L) {
  luaL_newlib(L, kFunctions);
  Scheduler::push_tools(L);
  lua_setfield(L, -2, "tools");
  push_array_metatable(L);
  lua_setfield(L, -2, "array_metatable");
  lua_pushlightuserdata(L, nullptr);
  lua_setfield(L, -2, "null");
  const RuntimeOptions& options = Runtime::current()->options();
  lua_pushstring(L, options.log_file.c_str());
  lua_setfield(L, -2, "log_file");
  lua_pushstring(L, options.cwd.c_str());
  lua_setfield(L, -2, "cwd");
  lua_pushstring(L, options.session.c_str());
  lua_setfield(L, -2, "session");
  open_spawn(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kCoreKey);

  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, call_index);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "panto.Call");
  lua_setfield(L, -2, "__name");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kCallKey);
}

void push_core_lib(lua_State* L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kCoreKey);
}

void set_control_functions(lua_State* L) {
  luaL_checktype(L, -1, LUA_TTABLE);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kControlKey);
}

void push_control_function(lua_State* L, const std::string& name) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kControlKey);
  lua_pushlstring(L, name.data(), name.size());
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

void push_call_object(lua_State* L, Token token, const std::string& id, const std::string& tool) {
  void* memory = lua_newuserdatauv(L, sizeof(CallObject) + id.size() + tool.size(), 0);
  auto* call = static_cast<CallObject*>(memory);
  *call = CallObject{token, id.size(), tool.size()};
  char* strings = reinterpret_cast<char*>(call + 1);
  std::memcpy(strings, id.data(), id.size());
  std::memcpy(strings + id.size(), tool.data(), tool.size());
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kCallKey);
  lua_setmetatable(L, -2);
}

}  // namespace panto

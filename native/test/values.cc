#include "values.h"

#include "check.h"
#include "core/chain.h"

namespace panto::test {
namespace {

int push_document(lua_State* L) {
  push_json(L, static_cast<JsonDocument*>(lua_touserdata(L, 1))->root());
  return 1;
}

}  // namespace

LuaState::LuaState() : L(luaL_newstate()) {
  set_task_of_root(L, nullptr);
  luaL_openlibs(L);
  open_json(L);
}

LuaState::Encoded LuaState::encode(const std::string& chunk, JsonEncoding encoding, JsonLayout layout) {
  if (luaL_dostring(L, chunk.c_str()) != LUA_OK) fail(__FILE__, __LINE__, lua_tostring(L, -1));
  return encode_top(encoding, layout);
}

LuaState::Encoded LuaState::encode_top(JsonEncoding encoding, JsonLayout layout) {
  Encoded out{};
  out.ok = encode_json(L, -1, "value", encoding, layout, &out.text, &out.error);
  lua_pop(L, 1);
  return out;
}

bool LuaState::decode(const std::string& json, std::string* error) {
  JsonDocument document;
  if (!document.parse(json, "text", error)) return false;
  lua_pushcfunction(L, push_document);
  lua_pushlightuserdata(L, &document);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) fail(__FILE__, __LINE__, lua_tostring(L, -1));
  return true;
}

std::string LuaState::decode_error(const std::string& json) {
  std::string error;
  if (!decode(json, &error)) return error;
  lua_pop(L, 1);
  return "";
}

std::string LuaState::round_trip(const std::string& json) {
  std::string error;
  if (!decode(json, &error)) return error;
  Encoded encoded = encode_top();
  return encoded.ok ? encoded.text : encoded.error;
}

std::string LuaState::eval_on(const std::string& json, const std::string& expression) {
  std::string error;
  if (!decode(json, &error)) return error;
  lua_setglobal(L, "v");
  if (luaL_dostring(L, ("return tostring(" + expression + ")").c_str()) != LUA_OK)
    fail(__FILE__, __LINE__, lua_tostring(L, -1));
  std::string out = lua_tostring(L, -1);
  lua_pop(L, 1);
  return out;
}

}  // namespace panto::test

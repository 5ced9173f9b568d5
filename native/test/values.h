// A bare lua_State with the JSON conversion, for tests of values.
#pragma once

#include <string>

#include "core/json.h"
#include "lua.hpp"

namespace panto::test {

class LuaState {
 public:
  LuaState();
  ~LuaState() { lua_close(L); }
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  struct Encoded {
    bool ok;
    std::string text;
    std::string error;
  };
  // Encodes what the chunk returns.
  Encoded encode(const std::string& chunk, JsonEncoding encoding = JsonEncoding::kExact, JsonLayout layout = {});
  // Encodes the value on top of the stack, and pops it.
  Encoded encode_top(JsonEncoding encoding = JsonEncoding::kExact, JsonLayout layout = {});
  // Pushes the decoded text; false with the error, and nothing pushed.
  bool decode(const std::string& json, std::string* error);
  std::string decode_error(const std::string& json);
  // JSON -> Lua -> JSON, or the error.
  std::string round_trip(const std::string& json);
  // The text of an expression over `v`, the decoded JSON.
  std::string eval_on(const std::string& json, const std::string& expression);

  lua_State* const L;
};

}  // namespace panto::test

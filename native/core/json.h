// JSON <-> Lua, over yyjson. Objects are tables; arrays are tables with the array metatable, so that an empty
// one stays an array; null is the light userdata NULL (the value that lua-cjson uses, too). Integers that fit
// 64 bits are Lua integers; -0 is the float -0.0.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lua.hpp"
#include "yyjson.h"

namespace panto {

// Nesting beyond this is refused in both directions; it bounds the C stack that a conversion uses.
constexpr int kMaxJsonDepth = 512;

// A parsed text, owned. Every value in it can be represented in Lua.
class JsonDocument {
 public:
  // `root` names the value in error messages ("input"). Returns false with one line in `error` (position or
  // path, and cause).
  bool parse(std::string_view text, const char* root, std::string* error);
  yyjson_val* root() const { return yyjson_doc_get_root(doc_.get()); }

 private:
  struct Free {
    void operator()(yyjson_doc* doc) const { yyjson_doc_free(doc); }
  };
  std::unique_ptr<yyjson_doc, Free> doc_;
};

// Pushes the value. Raises on memory only, so call it protected. stack: +1
void push_json(lua_State* L, yyjson_val* value);

// Creates the array metatable; once per lua_State, protected.
void open_json(lua_State* L);
// Pushes the array metatable. stack: +1
void push_array_metatable(lua_State* L);

enum class JsonEncoding {
  kExact,       // 64-bit integers as they are
  kToolResult,  // below the top-level key "details", which JS reads, integers end at 2^53
  kMessage,  // in the schema at the top-level key "schema", an empty table at an array-valued keyword is an
             // array
};

struct JsonLayout {
  bool pretty = false;  // two spaces a level
  bool sort_keys = false;
};

// Encodes the value at `index`. Never raises and runs no Lua code (metatables are not consulted, but for the
// array mark). Returns false with one line in `error` that names the path below `root`.
bool encode_json(lua_State* L, int index, const char* root, JsonEncoding encoding, JsonLayout layout,
                 std::string* out, std::string* error);

}  // namespace panto

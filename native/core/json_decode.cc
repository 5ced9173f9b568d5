#include <cmath>

#include "core/json.h"

namespace panto {
namespace {

const char kArrayMetatable = 0;  // its address is the registry key

// Where we are in a document, as a chain of stack frames; written out only when something is wrong.
struct Path {
  const Path* parent;
  const char* key;  // null for an array element
  size_t index;
};

void append_path(const Path* path, const char* root, std::string* out) {
  if (path == nullptr) {
    out->append(root);
    return;
  }
  append_path(path->parent, root, out);
  if (path->key != nullptr) {
    out->append(".").append(path->key);
  } else {
    out->append("[").append(std::to_string(path->index)).append("]");
  }
}

bool refuse(const Path* path, const char* root, const std::string& cause, std::string* error) {
  error->clear();
  append_path(path, root, error);
  if (error->size() > 200) *error = error->substr(0, 120) + " … " + error->substr(error->size() - 60);
  error->append(": ").append(cause);
  return false;
}

// Checks what JSON allows and Lua cannot hold: integers beyond 64 bits, numbers beyond a double, nesting.
bool representable(yyjson_val* value, const Path* path, int depth, const char* root, std::string* error) {
  if (depth > kMaxJsonDepth) {
    return refuse(path, root, "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels", error);
  }
  if (yyjson_is_raw(value)) {
    return refuse(
        path, root,
        std::string("the number ") + std::string(yyjson_get_raw(value)).substr(0, 40) + " is out of range",
        error);
  }
  if (yyjson_is_uint(value) && yyjson_get_uint(value) > static_cast<uint64_t>(LUA_MAXINTEGER)) {
    return refuse(path, root,
                  "the integer " + std::to_string(yyjson_get_uint(value)) + " does not fit 64 bits", error);
  }
  if (yyjson_is_arr(value)) {
    size_t index = 0;
    size_t count = 0;
    yyjson_val* item = nullptr;
    yyjson_arr_foreach(value, index, count, item) {
      if (!yyjson_is_ctn(item) && !yyjson_is_num(item) && !yyjson_is_raw(item)) continue;
      Path here{path, nullptr, index};
      if (!representable(item, &here, depth + 1, root, error)) return false;
    }
  } else if (yyjson_is_obj(value)) {
    size_t index = 0;
    size_t count = 0;
    yyjson_val* key = nullptr;
    yyjson_val* item = nullptr;
    yyjson_obj_foreach(value, index, count, key, item) {
      if (!yyjson_is_ctn(item) && !yyjson_is_num(item) && !yyjson_is_raw(item)) continue;
      Path here{path, yyjson_get_str(key), 0};
      if (!representable(item, &here, depth + 1, root, error)) return false;
    }
  }
  return true;
}

std::string describe_position(std::string_view text, const yyjson_read_err& failure, const char* root) {
  size_t line = 1;
  size_t column = 1;
  for (size_t i = 0; i < failure.pos && i < text.size(); i++) {
    if (text[i] == '\n') {
      line++;
      column = 1;
    } else {
      column++;
    }
  }
  return std::string(root) + " is not JSON: " + failure.msg + " at line " + std::to_string(line) +
         ", column " + std::to_string(column);
}

}  // namespace

bool JsonDocument::parse(std::string_view text, const char* root, std::string* error) {
  yyjson_read_err failure{};
  // Without YYJSON_READ_INSITU the text is not written to.
  doc_.reset(yyjson_read_opts(const_cast<char*>(text.data()), text.size(), YYJSON_READ_BIGNUM_AS_RAW, nullptr,
                              &failure));
  if (doc_ == nullptr) {
    *error = describe_position(text, failure, root);
    return false;
  }
  return representable(this->root(), nullptr, 1, root, error);
}

void open_json(lua_State* L) {
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "panto.json.array");
  lua_setfield(L, -2, "__name");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kArrayMetatable);
}

void push_array_metatable(lua_State* L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kArrayMetatable);
}

void push_json(lua_State* L, yyjson_val* value) {
  luaL_checkstack(L, 4, "JSON value");
  switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_BOOL:
      lua_pushboolean(L, yyjson_get_bool(value));
      return;
    case YYJSON_TYPE_NUM:
      if (yyjson_is_real(value)) {
        lua_pushnumber(L, yyjson_get_real(value));
      } else if (yyjson_is_sint(value) && yyjson_get_sint(value) == 0) {
        lua_pushnumber(L, -0.0);  // yyjson keeps the sign of "-0" in the subtype
      } else {
        lua_pushinteger(L, yyjson_get_sint(value));
      }
      return;
    case YYJSON_TYPE_STR:
      lua_pushlstring(L, yyjson_get_str(value), yyjson_get_len(value));
      return;
    case YYJSON_TYPE_ARR: {
      lua_createtable(L, static_cast<int>(yyjson_arr_size(value)), 0);
      push_array_metatable(L);
      lua_setmetatable(L, -2);
      size_t index = 0;
      size_t count = 0;
      yyjson_val* item = nullptr;
      yyjson_arr_foreach(value, index, count, item) {
        push_json(L, item);
        lua_rawseti(L, -2, static_cast<lua_Integer>(index) + 1);
      }
      return;
    }
    case YYJSON_TYPE_OBJ: {
      lua_createtable(L, 0, static_cast<int>(yyjson_obj_size(value)));
      size_t index = 0;
      size_t count = 0;
      yyjson_val* key = nullptr;
      yyjson_val* item = nullptr;
      yyjson_obj_foreach(value, index, count, key, item) {
        lua_pushlstring(L, yyjson_get_str(key), yyjson_get_len(key));
        push_json(L, item);
        lua_rawset(L, -3);
      }
      return;
    }
    default:
      lua_pushlightuserdata(L, nullptr);
  }
}

}  // namespace panto

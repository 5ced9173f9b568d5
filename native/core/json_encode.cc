#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/text.h"

namespace panto {
namespace {

// The largest integer up to which every integer is a double (JS's Number.MAX_SAFE_INTEGER + 1).
constexpr lua_Integer kMaxJsInteger = lua_Integer{1} << 53;

// What a value is to its reader. It decides how large its integers may be and what its empty table becomes.
enum class Place {
  kData,        // nothing special
  kToolResult,  // what a handler returned
  kDetails,     // its "details" and all below
  kMessage,     // a message to the JS side
  kSchema,      // its "schema", and each schema below
  kSchemaMap,   // names -> schemas
  kSchemaList,  // an array of schemas
  kDataList,    // an array of data in a schema
};

struct Keyword {
  std::string_view name;
  Place place;
};

// JSON Schema's keywords that hold more than a scalar; what others hold is data.
constexpr Keyword kKeywords[] = {
    {"properties", Place::kSchemaMap},
    {"patternProperties", Place::kSchemaMap},
    {"$defs", Place::kSchemaMap},
    {"definitions", Place::kSchemaMap},
    {"dependentSchemas", Place::kSchemaMap},
    {"allOf", Place::kSchemaList},
    {"anyOf", Place::kSchemaList},
    {"oneOf", Place::kSchemaList},
    {"prefixItems", Place::kSchemaList},
    {"required", Place::kDataList},
    {"enum", Place::kDataList},
    {"examples", Place::kDataList},
    {"type", Place::kDataList},
    {"items", Place::kSchema},
    {"additionalItems", Place::kSchema},
    {"additionalProperties", Place::kSchema},
    {"unevaluatedItems", Place::kSchema},
    {"unevaluatedProperties", Place::kSchema},
    {"contains", Place::kSchema},
    {"propertyNames", Place::kSchema},
    {"contentSchema", Place::kSchema},
    {"not", Place::kSchema},
    {"if", Place::kSchema},
    {"then", Place::kSchema},
    {"else", Place::kSchema},
};

Place place_of_root(JsonEncoding encoding) {
  switch (encoding) {
    case JsonEncoding::kToolResult:
      return Place::kToolResult;
    case JsonEncoding::kMessage:
      return Place::kMessage;
    default:
      return Place::kData;
  }
}

Place place_of_member(Place parent, std::string_view key) {
  switch (parent) {
    case Place::kToolResult:
      return key == "details" ? Place::kDetails : Place::kData;
    case Place::kDetails:
      return Place::kDetails;
    case Place::kMessage:
      return key == "schema" ? Place::kSchema : Place::kData;
    case Place::kSchemaMap:
      return Place::kSchema;
    case Place::kSchema:
      for (const Keyword& keyword : kKeywords) {
        if (keyword.name == key) return keyword.place;
      }
      return Place::kData;
    default:
      return Place::kData;
  }
}

Place place_of_element(Place parent) {
  switch (parent) {
    case Place::kDetails:
      return Place::kDetails;
    case Place::kSchemaList:
    case Place::kSchema:  // "items" may list schemas
      return Place::kSchema;
    default:
      return Place::kData;
  }
}

struct Frame {
  const Frame* parent;
  const void* table;
  const char* key;  // null for an array element; else valid while the frame is
  lua_Integer index;
};

class Encoder {
 public:
  Encoder(lua_State* L, const char* root, JsonEncoding encoding, JsonLayout layout, std::string* error)
      : L_(L),
        root_(root),
        encoding_(encoding),
        layout_(layout),
        error_(error),
        doc_(yyjson_mut_doc_new(nullptr)) {}
  ~Encoder() { yyjson_mut_doc_free(doc_); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  bool run(int index, std::string* out) {
    if (doc_ == nullptr) return refuse_memory();
    yyjson_mut_val* value = encode(lua_absindex(L_, index), nullptr, 1, place_of_root(encoding_));
    if (value == nullptr) return false;
    yyjson_mut_doc_set_root(doc_, value);
    size_t length = 0;
    yyjson_write_err failure{};
    char* text =
        yyjson_mut_write_opts(doc_, layout_.pretty ? YYJSON_WRITE_PRETTY_TWO_SPACES : YYJSON_WRITE_NOFLAG,
                              nullptr, &length, &failure);
    if (text == nullptr) {
      *error_ = std::string(root_) + ": " + failure.msg;
      return false;
    }
    out->assign(text, length);
    free(text);
    return true;
  }

 private:
  bool refuse_memory() {
    *error_ = std::string(root_) + ": not enough memory";
    return false;
  }

  yyjson_mut_val* refuse(const Frame* frame, const std::string& cause) {
    std::string path;
    for (const Frame* at = frame; at != nullptr; at = at->parent) {
      std::string step =
          at->key != nullptr ? std::string(".") + at->key : "[" + std::to_string(at->index) + "]";
      path.insert(0, step);
    }
    path.insert(0, root_);
    if (path.size() > 200) path = path.substr(0, 120) + " … " + path.substr(path.size() - 60);
    *error_ = path + ": " + cause;
    return nullptr;
  }

  yyjson_mut_val* encode(int index, const Frame* frame, int depth, Place place) {
    switch (lua_type(L_, index)) {
      case LUA_TNIL:
        return yyjson_mut_null(doc_);
      case LUA_TBOOLEAN:
        return yyjson_mut_bool(doc_, lua_toboolean(L_, index));
      case LUA_TNUMBER:
        return encode_number(index, frame, place);
      case LUA_TSTRING:
        return encode_string(index);
      case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L_, index) == nullptr) return yyjson_mut_null(doc_);
        break;
      case LUA_TTABLE:
        return encode_table(index, frame, depth, place);
      default:
        break;
    }
    return refuse(
        frame, std::string("a ") + lua_typename(L_, lua_type(L_, index)) + " cannot be represented in JSON");
  }

  yyjson_mut_val* encode_number(int index, const Frame* frame, Place place) {
    if (lua_isinteger(L_, index)) {
      lua_Integer value = lua_tointeger(L_, index);
      if (place == Place::kDetails && (value > kMaxJsInteger || value < -kMaxJsInteger)) {
        return refuse(frame, "the integer " + std::to_string(value) + " is beyond 2^53; use a string");
      }
      return yyjson_mut_sint(doc_, value);
    }
    double value = lua_tonumber(L_, index);
    if (std::isnan(value)) return refuse(frame, "NaN cannot be represented in JSON");
    if (std::isinf(value)) return refuse(frame, "an infinite number cannot be represented in JSON");
    return yyjson_mut_real(doc_, value);
  }

  yyjson_mut_val* encode_string(int index) {
    size_t length = 0;
    const char* bytes = lua_tolstring(L_, index, &length);
    // No Lua code runs before the text is written, so a valid string need not be copied.
    if (is_valid_utf8({bytes, length})) return yyjson_mut_strn(doc_, bytes, length);
    std::string fixed = to_valid_utf8({bytes, length});
    return yyjson_mut_strncpy(doc_, fixed.data(), fixed.size());
  }

  bool has_array_mark(int index) {
    if (!lua_getmetatable(L_, index)) return false;
    push_array_metatable(L_);
    bool marked = lua_rawequal(L_, -1, -2);
    lua_pop(L_, 2);
    return marked;
  }

  yyjson_mut_val* encode_table(int index, const Frame* frame, int depth, Place place) {
    const void* table = lua_topointer(L_, index);
    for (const Frame* at = frame; at != nullptr; at = at->parent) {
      if (at->table == table) return refuse(frame, "the table contains itself (circular)");
    }
    if (depth > kMaxJsonDepth)
      return refuse(frame, "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    if (!lua_checkstack(L_, 6)) return refuse(frame, "the Lua stack is full");

    lua_pushnil(L_);
    if (!lua_next(L_, index)) {
      bool array = has_array_mark(index) || place == Place::kSchemaList || place == Place::kDataList;
      return array ? yyjson_mut_arr(doc_) : yyjson_mut_obj(doc_);
    }
    int key_type = lua_type(L_, -2);
    lua_pop(L_, 2);
    bool array = key_type == LUA_TNUMBER || has_array_mark(index);
    return array ? encode_array(index, table, frame, depth, place)
                 : encode_object(index, table, frame, depth, place);
  }

  yyjson_mut_val* encode_array(int index, const void* table, const Frame* frame, int depth, Place place) {
    auto length = static_cast<lua_Integer>(lua_rawlen(L_, index));
    lua_Integer keys = 0;
    lua_pushnil(L_);
    while (lua_next(L_, index)) {
      bool in_sequence =
          lua_isinteger(L_, -2) && lua_tointeger(L_, -2) >= 1 && lua_tointeger(L_, -2) <= length;
      keys++;
      if (!in_sequence) {
        const char* what = lua_type(L_, -2) == LUA_TSTRING ? "mixes array elements and string keys"
                                                           : "has keys that are neither strings nor 1..n";
        lua_pop(L_, 2);
        return refuse(frame, std::string("the table ") + what);
      }
      lua_pop(L_, 1);
    }
    if (keys != length) return refuse(frame, "the array has holes (nil elements); use panto.json.null");
    yyjson_mut_val* out = yyjson_mut_arr(doc_);
    for (lua_Integer i = 1; i <= length; i++) {
      Frame here{frame, table, nullptr, i};
      lua_rawgeti(L_, index, i);
      yyjson_mut_val* item = encode(lua_gettop(L_), &here, depth + 1, place_of_element(place));
      lua_pop(L_, 1);
      if (item == nullptr) return nullptr;
      yyjson_mut_arr_append(out, item);
    }
    return out;
  }

  yyjson_mut_val* encode_object(int index, const void* table, const Frame* frame, int depth, Place place) {
    yyjson_mut_val* out = yyjson_mut_obj(doc_);
    lua_pushnil(L_);
    while (lua_next(L_, index)) {
      int key_type = lua_type(L_, -2);
      if (key_type != LUA_TSTRING) {
        lua_pop(L_, 2);
        if (key_type == LUA_TNUMBER) return refuse(frame, "the table mixes array elements and string keys");
        return refuse(frame,
                      std::string("a ") + lua_typename(L_, key_type) + " key cannot be represented in JSON");
      }
      const char* key = lua_tostring(L_, -2);
      Frame here{frame, table, key, 0};
      yyjson_mut_val* name = encode_string(lua_gettop(L_) - 1);
      yyjson_mut_val* item = encode(lua_gettop(L_), &here, depth + 1, place_of_member(place, key));
      if (item == nullptr) {
        lua_pop(L_, 2);
        return nullptr;
      }
      yyjson_mut_obj_add(out, name, item);
      lua_pop(L_, 1);
    }
    return layout_.sort_keys ? sorted(out) : out;
  }

  // The same members in the order of their keys' bytes.
  yyjson_mut_val* sorted(yyjson_mut_val* object) {
    std::vector<std::pair<yyjson_mut_val*, yyjson_mut_val*>> members;
    yyjson_mut_obj_iter iterator = yyjson_mut_obj_iter_with(object);
    while (yyjson_mut_val* key = yyjson_mut_obj_iter_next(&iterator)) {
      members.emplace_back(key, yyjson_mut_obj_iter_get_val(key));
    }
    auto text = [](yyjson_mut_val* key) {
      return std::string_view(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
    };
    std::sort(members.begin(), members.end(),
              [&](auto& a, auto& b) { return text(a.first) < text(b.first); });
    yyjson_mut_val* out = yyjson_mut_obj(doc_);
    for (auto& [key, value] : members) yyjson_mut_obj_add(out, key, value);
    return out;
  }

  lua_State* L_;
  const char* root_;
  JsonEncoding encoding_;
  JsonLayout layout_;
  std::string* error_;
  yyjson_mut_doc* doc_;
};

}  // namespace

bool encode_json(lua_State* L, int index, const char* root, JsonEncoding encoding, JsonLayout layout,
                 std::string* out, std::string* error) {
  int top = lua_gettop(L);
  if (!lua_checkstack(L, 6)) {
    *error = std::string(root) + ": the Lua stack is full";
    return false;
  }
  bool ok = Encoder(L, root, encoding, layout, error).run(index, out);
  lua_settop(L, top);
  return ok;
}

}  // namespace panto

// JSON <-> Lua: what is kept, and what is refused with the path.
#include "core/json.h"

#include <cmath>

#include "check.h"
#include "values.h"

namespace panto::test {
namespace {

TEST("json: integers of 64 bits, floats and -0 keep their kind") {
  LuaState lua;
  CHECK_EQUAL(lua.eval_on("9223372036854775807", "math.type(v) == 'integer' and v == math.maxinteger"), "true");
  CHECK_EQUAL(lua.eval_on("-9223372036854775808", "math.type(v) == 'integer' and v == math.mininteger"), "true");
  CHECK_EQUAL(lua.eval_on("1.0", "math.type(v)"), "float");
  CHECK_EQUAL(lua.eval_on("-0", "1 / v"), "-inf");
  CHECK_EQUAL(lua.eval_on("-0.0", "1 / v"), "-inf");
  CHECK_EQUAL(lua.round_trip("[-9223372036854775808,9223372036854775807,1.5,-0.0]"),
              "[-9223372036854775808,9223372036854775807,1.5,-0.0]");
}

TEST("json: an empty array stays an array, an empty object an object, null stays") {
  LuaState lua;
  CHECK_EQUAL(lua.round_trip(R"({"a":[]})"), R"({"a":[]})");
  CHECK_EQUAL(lua.round_trip(R"({"a":{}})"), R"({"a":{}})");
  CHECK_EQUAL(lua.round_trip("[null,[null]]"), "[null,[null]]");
  CHECK_EQUAL(lua.round_trip("null"), "null");
}

TEST("json: NUL and every code point survive in strings and keys") {
  LuaState lua;
  CHECK_EQUAL(lua.eval_on(R"("a\u0000b")", "#v"), "3");
  CHECK_EQUAL(lua.round_trip(R"({"a\u0000b":"\u0000"})"), R"({"a\u0000b":"\u0000"})");
  CHECK_EQUAL(lua.eval_on(R"("\ud83d\ude00")", "v == '\\u{1F600}'"), "true");
}

TEST("json: bytes that are no UTF-8 leave as valid UTF-8") {
  LuaState lua;
  CHECK_EQUAL(lua.encode("return { 'a\\xffb', ['\\xc3'] = 1 }").error,
              "value: the table mixes array elements and string keys");
  CHECK_EQUAL(lua.encode("return { 'a\\xffb\\xe2\\x82' }").text, "[\"a\xEF\xBF\xBD" "b\xEF\xBF\xBD\"]");
  CHECK_EQUAL(lua.encode("return { ['\\xc3('] = 1 }").text, "{\"\xEF\xBF\xBD(\":1}");
}

TEST("json: what cannot be represented is refused with its path") {
  LuaState lua;
  CHECK_EQUAL(lua.encode("return { a = { 1, 0/0 } }").error, "value.a[2]: NaN cannot be represented in JSON");
  CHECK_EQUAL(lua.encode("return { a = math.huge }").error,
              "value.a: an infinite number cannot be represented in JSON");
  CHECK_EQUAL(lua.encode("return { f = print }").error, "value.f: a function cannot be represented in JSON");
  CHECK_EQUAL(lua.encode("local t = {} t.b = { t } return t").error,
              "value.b[1]: the table contains itself (circular)");
  CHECK_EQUAL(lua.encode("return { 1, nil, 3, [5] = 1 }").ok, false);
  CHECK_EQUAL(lua.encode("return { [true] = 1 }").error, "value: a boolean key cannot be represented in JSON");
  CHECK_EQUAL(lua.encode("return { a = 1, 2 }").ok, false);
}

TEST("json: 512 levels pass and 513 are refused, in both directions") {
  LuaState lua;
  auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK_EQUAL(lua.round_trip(nested(512)), nested(512));
  CHECK_EQUAL(lua.decode_error(nested(513)).find("nested deeper than 512 levels") != std::string::npos, true);
  // Deep enough to end a parser that recurses.
  CHECK(!lua.decode_error(nested(1000000)).empty());
  CHECK(lua.encode("local t = {} for _ = 2, 512 do t = { t } end return t").ok);
  CHECK(!lua.encode("local t = {} for _ = 2, 513 do t = { t } end return t").ok);
}

TEST("json: numbers beyond 64 bits or a double are refused with their path") {
  LuaState lua;
  CHECK_EQUAL(lua.decode_error(R"({"a":[9223372036854775808]})"),
              "text.a[0]: the integer 9223372036854775808 does not fit 64 bits");
  CHECK_EQUAL(lua.decode_error("[1e999]"), "text[0]: the number 1e999 is out of range");
  CHECK_EQUAL(lua.decode_error("[-92233720368547758090]"), "text[0]: the number -92233720368547758090 is out of range");
}

TEST("json: a text that is not JSON is refused with line and column") {
  LuaState lua;
  CHECK_EQUAL(lua.decode_error("[1,\n 2,]").find("text is not JSON: "), 0U);
  CHECK(lua.decode_error("[1,\n 2,]").find("line 2") != std::string::npos);
  CHECK(!lua.decode_error("").empty());
  CHECK(!lua.decode_error("\xEF\xBB\xBF{}").empty());
  CHECK(!lua.decode_error(R"(["\ud800"])").empty());
  CHECK(!lua.decode_error("[1] x").empty());
}

TEST("json: a failed encoding leaves the Lua stack as it was") {
  LuaState lua;
  int top = lua_gettop(lua.L);
  CHECK(!lua.encode("return { a = { b = { c = { print } } } }").ok);
  CHECK(!lua.encode("return { { { 1, a = 2 } } }").ok);
  CHECK_EQUAL(lua_gettop(lua.L), top);
}

TEST("json: sorted keys come in the order of their bytes") {
  LuaState lua;
  CHECK_EQUAL(lua.encode("return { b = 1, a = 2, ['a\\0'] = 3, ab = { z = 1, y = 2 } }", JsonEncoding::kExact, {false, true}).text,
              R"({"a":2,"a\u0000":3,"ab":{"y":2,"z":1},"b":1})");
}

TEST("json: integers beyond 2^53 are refused below details only") {
  LuaState lua;
  CHECK_EQUAL(lua.encode("return { content = 1 << 60, details = { 1 << 60 } }", JsonEncoding::kToolResult).error,
              "value.details[1]: the integer 1152921504606846976 is beyond 2^53; use a string");
  CHECK_EQUAL(lua.encode("return { content = 1 << 60 }", JsonEncoding::kToolResult).ok, true);
}

}  // namespace
}  // namespace panto::test

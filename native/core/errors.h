// From an error object of any type to readable text with its place.
#pragma once

#include <string>

#include "lua.hpp"

namespace panto {

struct Failure {
  std::string kind = "failed";  // CallError.kind of lib/core
  std::string message;          // one line, the cause
  std::string where;            // "extension file:line"
  std::string traceback;
};

// Message handler: records the failure of the running task, or of the running luv callback. Returns the error
// object itself. Runs __tostring of the object, so it may raise; Lua then reports LUA_ERRERR.
int record_failure(lua_State* L);

struct Extension;

// Fills place and traceback of a coroutine that does not run: suspended, or dead of an error. Follows awaits
// into nested coroutines. Does not raise.
void describe_place(lua_State* co, const Extension& extension, Failure* failure);

// JSON {kind, message, where?, traceback?, extension?}.
std::string failure_json(const Failure& failure, const std::string& extension);

}  // namespace panto

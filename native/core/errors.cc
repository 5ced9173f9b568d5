#include "core/errors.h"

#include <memory>
#include <string_view>

#include "core/await.h"
#include "core/chain.h"
#include "core/coroutine_lib.h"
#include "core/interrupt.h"
#include "core/runtime.h"
#include "core/task.h"
#include "core/text.h"
#include "lua/continuation.h"
#include "yyjson.h"

namespace panto {
namespace {

// Deeper frames are not looked at when the place of an error is searched.
constexpr int kMaxLevels = 200;

// Pushes readable text of the error object at index 1. stack: +1
void push_message(lua_State* L) {
  if (lua_type(L, 1) == LUA_TTABLE && luaL_getmetafield(L, 1, "__tostring") == LUA_TNIL) {
    lua_getfield(L, 1, "message");
    if (lua_type(L, -1) == LUA_TSTRING) return;
    lua_pop(L, 1);
    lua_pushliteral(L, "(error object is a table value)");
    return;
  }
  luaL_tolstring(L, 1, nullptr);
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// Whether a chunk name is `prefix` itself, or a file of that name, or a file below it.
bool is_of(const char* source, const std::string& prefix) {
  std::string_view name(source);
  if (prefix.empty() || name.substr(0, prefix.size()) != prefix) return false;
  return name.size() == prefix.size() || name[prefix.size()] == '.' || name[prefix.size()] == '/';
}

// The innermost Lua line that belongs to the extension itself, else the innermost one that is not the
// runtime's.
bool find_place(lua_State* L, const Extension& extension, const std::string& runtime_prefix,
                lua_Debug* place) {
  bool found = false;
  lua_Debug frame;
  for (int level = 0; level < kMaxLevels && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline < 0 || is_of(frame.source, runtime_prefix)) continue;
    bool own = is_of(frame.source, extension.source_prefix);
    if (own || !found) *place = frame;
    found = true;
    if (own) break;
  }
  return found;
}

void add_text(yyjson_mut_doc* doc, yyjson_mut_val* object, const char* key, const std::string& text) {
  if (text.empty()) return;
  std::string valid = to_valid_utf8(text);
  yyjson_mut_obj_add_strncpy(doc, object, key, valid.data(), valid.size());
}

}  // namespace

int record_failure(lua_State* L) {
  Runtime* runtime = Runtime::current();
  Task* task = current_task();
  Failure* failure = task == nullptr                       ? &runtime->callback_failure
                     : task->stage == Task::Stage::kDefers ? &task->defer_failure
                                                           : &task->failure;
  const Extension& extension = runtime->extension(runtime->current_owner());
  *failure = Failure{};
  size_t length = 0;
  const char* text = nullptr;
  if (is_cancel(L, 1) || is_kill(L, 1)) {
    failure->kind = "cancelled";
    failure->message = "cancelled";
    if (task == nullptr || task->cancelled) return 1;
  } else {
    push_message(L);
    text = lua_tolstring(L, -1, &length);
    failure->message.assign(text, length);
  }
  lua_Debug place;
  if (find_place(L, extension, "@" + runtime->options().lua_dir, &place)) {
    failure->where.assign(place.short_src).append(":").append(std::to_string(place.currentline));
    // error() has put the position of its caller in front; it is said once.
    std::string prefix = failure->where + ": ";
    if (starts_with(failure->message, prefix)) failure->message.erase(0, prefix.size());
  }
  if (!extension.name.empty())
    failure->where = failure->where.empty() ? extension.name : extension.name + " " + failure->where;
  luaL_traceback(L, L, nullptr, 1);
  text = lua_tolstring(L, -1, &length);
  failure->traceback.assign(text, length);
  lua_settop(L, 1);
  return 1;
}

namespace {

struct Place {
  lua_State* coroutine;
  const Extension* extension;
  Failure* failure;
};

// Protected: a traceback allocates. stack: Place
int place_of(lua_State* L) {
  auto* place = static_cast<Place*>(lua_touserdata(L, 1));
  Failure* failure = place->failure;
  const std::string runtime_prefix = "@" + Runtime::current()->options().lua_dir;
  for (lua_State* co = place->coroutine; co != nullptr;) {
    lua_State* inner = panto_continuation(co) == coroutine_resumed ? lua_tothread(co, 1) : nullptr;
    lua_Debug frame;
    if (find_place(co, *place->extension, runtime_prefix, &frame)) {
      failure->where = std::string(frame.short_src) + ":" + std::to_string(frame.currentline);
    }
    luaL_traceback(L, co, nullptr, 0);
    failure->traceback =
        std::string(lua_tostring(L, -1)) + (failure->traceback.empty() ? "" : "\n") + failure->traceback;
    co = inner;
  }
  const std::string& name = place->extension->name;
  if (!name.empty()) failure->where = failure->where.empty() ? name : name + " " + failure->where;
  return 0;
}

}  // namespace

void describe_place(lua_State* co, const Extension& extension, Failure* failure) {
  lua_State* L = Runtime::current()->state();
  if (!lua_checkstack(L, 3)) return;
  Place place{co, &extension, failure};
  lua_pushcfunction(L, place_of);
  lua_pushlightuserdata(L, &place);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
}

std::string failure_json(const Failure& failure, const std::string& extension) {
  std::unique_ptr<yyjson_mut_doc, decltype(&yyjson_mut_doc_free)> doc(yyjson_mut_doc_new(nullptr),
                                                                      yyjson_mut_doc_free);
  yyjson_mut_val* object = yyjson_mut_obj(doc.get());
  yyjson_mut_doc_set_root(doc.get(), object);
  add_text(doc.get(), object, "kind", failure.kind);
  add_text(doc.get(), object, "message", failure.message.empty() ? "unknown error" : failure.message);
  add_text(doc.get(), object, "where", failure.where);
  add_text(doc.get(), object, "traceback", failure.traceback);
  add_text(doc.get(), object, "extension", extension);
  size_t length = 0;
  char* text = yyjson_mut_write(doc.get(), YYJSON_WRITE_NOFLAG, &length);
  std::string out =
      text != nullptr ? std::string(text, length) : R"({"kind":"failed","message":"not enough memory"})";
  free(text);
  return out;
}

}  // namespace panto

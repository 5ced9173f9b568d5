// The addon's entry: makes Lua's API visible to C rocks and exports the runtime and what `panto lua` needs.
#include <dlfcn.h>
#include <napi.h>

#include "binding/process.h"
#include "binding/runtime_object.h"
#include "lua.hpp"

namespace {

// Node loads addons with RTLD_LOCAL, so lua_* would not be found by the rocks that are loaded later. Opening
// ourselves once more with RTLD_GLOBAL promotes the copy that is already loaded.
void promote_symbols(Napi::Env env) {
  Dl_info info;
  bool found = dladdr(reinterpret_cast<void*>(&lua_gettop), &info) != 0;
  if (!found || dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) == nullptr) {
    const char* cause = dlerror();
    throw Napi::Error::New(env, std::string("panto's addon cannot make Lua visible to C rocks: ") +
                                    (cause != nullptr ? cause : "its file was not found"));
  }
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  promote_symbols(env);
  panto::RuntimeObject::define(env, exports);
  panto::define_process_functions(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(panto, init)

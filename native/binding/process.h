// Functions about the process: lua.c's main, the standard streams, the exit.
#pragma once

#include <napi.h>

namespace panto {

void define_process_functions(Napi::Env env, Napi::Object exports);

}  // namespace panto

// The JS face of core/runtime.h. Lives on the JS thread that made it.
#pragma once

#include <napi.h>

#include <atomic>
#include <memory>

#include "core/runtime.h"

namespace panto {

// Wakes the JS thread. Shared by the runtime's thread and the object; outlives both.
class Waker {
 public:
  Waker(Napi::Env env, Napi::Function on_wake);
  void wake();           // any thread
  void set_alive(bool);  // JS thread: whether it keeps the process alive
  void close();          // JS thread; no call reaches JS after it

 private:
  std::mutex mutex_;
  napi_env env_;
  std::atomic<napi_threadsafe_function> function_{nullptr};
};

class RuntimeObject : public Napi::ObjectWrap<RuntimeObject> {
 public:
  static void define(Napi::Env env, Napi::Object exports);
  explicit RuntimeObject(const Napi::CallbackInfo& info);
  ~RuntimeObject() override;

 private:
  Napi::Value invoke_batch(const Napi::CallbackInfo& info);
  Napi::Value control(const Napi::CallbackInfo& info);
  Napi::Value cancel(const Napi::CallbackInfo& info);
  Napi::Value drain(const Napi::CallbackInfo& info);
  Napi::Value keep_alive(const Napi::CallbackInfo& info);
  Napi::Value shutdown(const Napi::CallbackInfo& info);
  bool stop(int limit_ms);

  std::shared_ptr<Waker> waker_;
  // Null once stopped. Released, never destroyed, when its thread could not be stopped.
  std::unique_ptr<Runtime> runtime_;
  static void at_env_cleanup(void* self);
};

}  // namespace panto

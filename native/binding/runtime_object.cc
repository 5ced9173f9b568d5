#include "binding/runtime_object.h"

#include <atomic>

namespace panto {
namespace {

// One lua_State a process: luv's child watchers and our symbols are process-wide.
std::atomic<bool> runtime_exists{false};

// At the end of an environment nobody waits for long.
constexpr int kCleanupLimitMs = 500;

void require(Napi::Env env, bool condition, const char* expected) {
  if (!condition) throw Napi::TypeError::New(env, std::string("Expected ") + expected);
}

std::string text_option(const Napi::Object& options, const char* name) {
  Napi::Value value = options.Get(name);
  require(options.Env(), value.IsString(), (std::string("option ") + name + " to be a string").c_str());
  return value.ToString();
}

double number_option(const Napi::Object& options, const char* name) {
  Napi::Value value = options.Get(name);
  require(options.Env(), value.IsNumber(), (std::string("option ") + name + " to be a number").c_str());
  return value.ToNumber();
}

Token to_token(const Napi::Value& value) {
  return static_cast<Token>(value.ToNumber().Int64Value());
}

// Splits `text` at NUL, which JSON texts, names and ids do not contain.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = text.find('\0'); end != std::string::npos; end = text.find('\0', begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

void check(napi_env env, napi_status status) {
  if (status != napi_ok) throw Napi::Error::New(Napi::Env(env));
}

void call_on_wake(napi_env env, napi_value on_wake, void*, void*) {
  if (env == nullptr) return;  // the environment is going away
  napi_value receiver = nullptr;
  napi_value result = nullptr;
  if (napi_get_undefined(env, &receiver) != napi_ok) return;
  if (napi_call_function(env, receiver, on_wake, 0, nullptr, &result) == napi_pending_exception) {
    napi_value error = nullptr;
    if (napi_get_and_clear_last_exception(env, &error) == napi_ok) napi_fatal_exception(env, error);
  }
}

}  // namespace

Waker::Waker(Napi::Env env, Napi::Function on_wake) : env_(env) {
  napi_threadsafe_function function = nullptr;
  check(env, napi_create_threadsafe_function(env, on_wake, nullptr, Napi::String::New(env, "panto-lua"), 0, 1,
                                             nullptr, nullptr, nullptr, call_on_wake, &function));
  check(env, napi_unref_threadsafe_function(env, function));
  function_ = function;
}

void Waker::wake() {
  std::lock_guard<std::mutex> lock(mutex_);
  // A full queue cannot happen (no limit); a closing one means that nobody listens any more.
  if (function_ != nullptr &&
      napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking) != napi_ok) {
    function_ = nullptr;
  }
}

void Waker::set_alive(bool alive) {
  if (function_ == nullptr) return;
  check(env_, alive ? napi_ref_threadsafe_function(env_, function_)
                    : napi_unref_threadsafe_function(env_, function_));
}

void Waker::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (function_ != nullptr) napi_release_threadsafe_function(function_, napi_tsfn_abort);
  function_ = nullptr;
}

void RuntimeObject::define(Napi::Env env, Napi::Object exports) {
  exports.Set("Runtime", DefineClass(env, "Runtime",
                                     {
                                         InstanceMethod<&RuntimeObject::invoke_batch>("invokeBatch"),
                                         InstanceMethod<&RuntimeObject::control>("control"),
                                         InstanceMethod<&RuntimeObject::cancel>("cancel"),
                                         InstanceMethod<&RuntimeObject::drain>("drain"),
                                         InstanceMethod<&RuntimeObject::keep_alive>("keepAlive"),
                                         InstanceMethod<&RuntimeObject::shutdown>("shutdown"),
                                     }));
}

// new Runtime(options, onWake)
RuntimeObject::RuntimeObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<RuntimeObject>(info) {
  Napi::Env env = info.Env();
  require(env, info.Length() == 2 && info[0].IsObject() && info[1].IsFunction(), "(options, onWake)");
  auto given = info[0].As<Napi::Object>();
  RuntimeOptions options;
  options.lua_dir = text_option(given, "luaDir");
  options.module_path = text_option(given, "modulePath");
  options.module_cpath = text_option(given, "moduleCpath");
  options.luv_file = text_option(given, "luvFile");
  options.log_file = text_option(given, "logFile");
  options.session = text_option(given, "session");
  options.cwd = text_option(given, "cwd");
  options.clock_origin_ms = number_option(given, "clockOriginMs");
  options.hold_limit_ms = static_cast<uint64_t>(number_option(given, "holdLimitMs"));
  options.grace_ms = static_cast<uint64_t>(number_option(given, "graceMs"));
  options.time_origin_ms = number_option(given, "timeOriginMs");
  if (runtime_exists.exchange(true))
    throw Napi::Error::New(env, "The Lua runtime already runs in this process");

  waker_ = std::make_shared<Waker>(env, info[1].As<Napi::Function>());
  options.wake = [waker = waker_] { waker->wake(); };
  runtime_ = std::make_unique<Runtime>(std::move(options));
  std::string error;
  if (!runtime_->start(&error)) {
    runtime_.reset();
    waker_->close();
    runtime_exists = false;
    throw Napi::Error::New(env, error);
  }
  check(env, napi_add_env_cleanup_hook(env, at_env_cleanup, this));
}

RuntimeObject::~RuntimeObject() {
  if (runtime_ == nullptr) return;
  napi_remove_env_cleanup_hook(Env(), at_env_cleanup, this);
  stop(kCleanupLimitMs);
}

void RuntimeObject::at_env_cleanup(void* self) {
  static_cast<RuntimeObject*>(self)->stop(kCleanupLimitMs);
}

bool RuntimeObject::stop(int limit_ms) {
  if (runtime_ == nullptr) return true;
  waker_->close();
  bool ended = runtime_->shutdown(limit_ms);
  if (ended) {
    runtime_.reset();
    runtime_exists = false;
  } else {
    runtime_.release();  // its thread still runs on it
  }
  return ended;
}

// invokeBatch(firstToken, serial, tools, ids, inputs, deadlines): the three texts are joined by NUL, one part
// a call; the deadlines are a Float64Array. Tokens count up from the first.
Napi::Value RuntimeObject::invoke_batch(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  require(env, info.Length() == 6 && info[0].IsNumber() && info[1].IsBoolean() && info[5].IsTypedArray(),
          "(firstToken, serial, tools, ids, inputs, deadlines)");
  if (runtime_ == nullptr) throw Napi::Error::New(env, "The Lua runtime has been shut down");
  std::vector<std::string> tools = split(info[2].ToString());
  std::vector<std::string> ids = split(info[3].ToString());
  std::vector<std::string> inputs = split(info[4].ToString());
  auto deadlines = info[5].As<Napi::Float64Array>();
  bool equal =
      tools.size() == ids.size() && ids.size() == inputs.size() && inputs.size() == deadlines.ElementLength();
  require(env, equal, "as many tools as ids, inputs and deadlines");
  Token token = to_token(info[0]);
  InvokeBatch batch;
  batch.serial = info[1].ToBoolean();
  batch.calls.reserve(tools.size());
  for (size_t i = 0; i < tools.size(); i++) {
    batch.calls.push_back(
        CallSpec{token + i, std::move(tools[i]), std::move(ids[i]), std::move(inputs[i]), deadlines[i]});
  }
  runtime_->send(std::move(batch));
  return env.Undefined();
}

// control(token, owner, name, arguments)
Napi::Value RuntimeObject::control(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  require(env, info.Length() == 4 && info[0].IsNumber() && info[1].IsNumber(),
          "(token, owner, name, arguments)");
  if (runtime_ == nullptr) throw Napi::Error::New(env, "The Lua runtime has been shut down");
  runtime_->send(ControlCall{to_token(info[0]), info[1].ToNumber(), info[2].ToString(), info[3].ToString()});
  return env.Undefined();
}

// cancel(token, isTimeout)
Napi::Value RuntimeObject::cancel(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  require(env, info.Length() == 2 && info[0].IsNumber() && info[1].IsBoolean(), "(token, isTimeout)");
  bool timeout = info[1].ToBoolean();
  if (runtime_ != nullptr) {
    runtime_->send(
        CancelTask{to_token(info[0]), timeout ? CancelReason::kTimeout : CancelReason::kCancelled});
  }
  return env.Undefined();
}

// drain(): six elements an event: kind, token, name, body, startedMs, endedMs
Napi::Value RuntimeObject::drain(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  std::vector<Event> events;
  if (runtime_ != nullptr) events = runtime_->drain();
  napi_value list = nullptr;
  check(env, napi_create_array_with_length(env, events.size() * 6, &list));
  uint32_t at = 0;
  auto append = [&](napi_value value) { check(env, napi_set_element(env, list, at++, value)); };
  auto append_number = [&](double number) {
    napi_value value = nullptr;
    check(env, napi_create_double(env, number, &value));
    append(value);
  };
  auto append_text = [&](const std::string& text) {
    napi_value value = nullptr;
    check(env, napi_create_string_utf8(env, text.data(), text.size(), &value));
    append(value);
  };
  for (const Event& event : events) {
    Napi::HandleScope scope(env);
    append_number(static_cast<int>(event.kind));
    append_number(static_cast<double>(event.token));
    append_text(event.name);
    append_text(event.body);
    append_number(event.started_ms);
    append_number(event.ended_ms);
  }
  return Napi::Value(env, list);
}

// keepAlive(alive: boolean)
Napi::Value RuntimeObject::keep_alive(const Napi::CallbackInfo& info) {
  require(info.Env(), info.Length() == 1 && info[0].IsBoolean(), "a boolean");
  waker_->set_alive(info[0].ToBoolean());
  return info.Env().Undefined();
}

// shutdown(limitMs): boolean, whether the Lua thread has ended
Napi::Value RuntimeObject::shutdown(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  require(env, info.Length() == 1 && info[0].IsNumber(), "milliseconds");
  if (runtime_ == nullptr) return Napi::Boolean::New(env, true);
  napi_remove_env_cleanup_hook(env, at_env_cleanup, this);
  return Napi::Boolean::New(env, stop(info[0].ToNumber()));
}

}  // namespace panto

// What crosses between the JS thread and the Lua thread: requests one way, events the other. Bytes only,
// copied in and out.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace panto {

// Names a task to the other side. Chosen by the sender, unique for the life of the runtime.
using Token = uint64_t;

struct CallSpec {
  Token token;
  std::string tool;
  std::string call_id;
  std::string input;   // JSON text
  double deadline_ms;  // on the clock of performance.now(); infinite for none
};

// All calls of one turn that belong to the Lua source.
struct InvokeBatch {
  std::vector<CallSpec> calls;
  bool serial;
};

// Runs a function of lua/panto/host.lua in a task of its own.
struct ControlCall {
  Token token;
  int owner;  // the extension it runs for; 0 is the runtime itself
  std::string name;
  std::string arguments;  // JSON text
};

enum class CancelReason {
  kCancelled,
  kTimeout,
  kHeld,    // ran too long without a suspension
  kMemory,  // was the largest when memory ran out
};

struct CancelTask {
  Token token;
  CancelReason reason;
};

using Request = std::variant<InvokeBatch, ControlCall, CancelTask>;

enum class EventKind {
  kReady,         // the runtime has booted
  kBootFailed,    // body: one line
  kStarted,       // token's handler begins now
  kUpdate,        // token, body: JSON of the partial result
  kSettledText,   // token, body: the text a handler returned
  kSettledJson,   // token, body: JSON of what a handler returned
  kSettledError,  // token, body: JSON {kind, message, where?, traceback?}
  kPost,          // name, body: JSON; from the Lua side of the host
  kProblem,       // body: JSON {extension, message, where?, traceback?}; an error that belongs to no call
};

struct Event {
  EventKind kind;
  Token token = 0;
  std::string name = {};
  std::string body = {};
  double started_ms = 0;  // both on the clock of performance.timeOrigin + performance.now()
  double ended_ms = 0;
};

// A queue between two threads that is drained whole.
template <typename T>
class Mailbox {
 public:
  // Returns whether the box was empty, that is whether the reader must be woken.
  bool push(T item) {
    std::lock_guard<std::mutex> lock(mutex_);
    items_.push_back(std::move(item));
    return items_.size() == 1;
  }

  std::vector<T> drain() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(items_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<T> items_;
};

}  // namespace panto

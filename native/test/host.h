// What the TypeScript side is to a Runtime, for tests: loads extensions, starts calls, collects events.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime.h"

namespace panto::test {

struct Limits {
  uint64_t hold_ms = 5000;
  uint64_t grace_ms = 500;
  uint64_t closers_ms = 100;
};

// What a call has become.
struct Outcome {
  EventKind kind = EventKind::kSettledError;
  std::string body;

  bool ok() const { return kind != EventKind::kSettledError; }
  // Fields of the JSON error; empty where absent.
  std::string error(const char* field) const;
};

class Host {
 public:
  explicit Host(Limits limits = {});
  // Ends the runtime; a thread that does not come back fails the test.
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Evaluates and activates an extension of that name and text.
  void load(const std::string& name, const std::string& text);
  // The same, of a file beside the tests.
  void load_file(const std::string& file);
  // Bodies of handlers (parameters: input, call), tool name -> body, as one extension; `prelude` comes before.
  void tools(const std::string& extension, const std::vector<std::pair<std::string, std::string>>& bodies,
             const std::string& prelude = {});

  struct Call {
    std::string tool;
    std::string input = "{}";
  };
  std::vector<Token> start(const std::vector<Call>& calls, bool serial = false);
  Token start(const std::string& tool, const std::string& input = "{}") { return start({{tool, input}})[0]; }
  void cancel(Token token, CancelReason reason = CancelReason::kCancelled);

  // Waits for the end; one that does not come fails the test. A second end, too.
  Outcome wait(Token token);
  bool has_settled(Token token);
  // How many calls have settled since the start.
  size_t settled_count();
  Outcome call(const std::string& tool, const std::string& input = "{}") { return wait(start(tool, input)); }
  // The text of a call that must succeed.
  std::string text(const std::string& tool, const std::string& input = "{}");

  // Tokens in the order in which they started, and settled.
  std::vector<Token> started();
  std::vector<Token> settled();
  std::vector<std::string> updates(Token token);
  // JSON of the problems reported so far.
  std::vector<std::string> problems();
  // Waits until there are so many problems.
  void wait_for_problems(size_t count);

  Runtime& runtime() { return *runtime_; }
  pthread_t lua_thread() const { return lua_thread_; }
  const std::string& dir() const { return dir_; }

 private:
  Outcome control(const std::string& name, const std::string& arguments);
  void take_events();

  std::string dir_;
  std::unique_ptr<Runtime> runtime_;
  Token last_token_ = 0;
  std::atomic<bool> knows_thread_{false};
  pthread_t lua_thread_{};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false;
  std::map<Token, Outcome> outcomes_;
  std::map<Token, std::vector<std::string>> updates_;
  std::vector<Token> started_;
  std::vector<Token> settled_;
  std::vector<std::string> problems_;
};

// JSON text of a string.
std::string quote(const std::string& text);

}  // namespace panto::test

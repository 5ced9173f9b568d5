#include "host.h"

#include <unistd.h>
#include <uv.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>

#include "check.h"
#include "core/json.h"

namespace panto::test {
namespace {

// No test waits so long for anything that is to come.
constexpr std::chrono::seconds kHang{60};

std::string make_dir() {
  std::string pattern = std::filesystem::temp_directory_path() / "panto-core-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) fail(__FILE__, __LINE__, "cannot make " + pattern);
  return pattern;
}

}  // namespace

std::string quote(const std::string& text) {
  yyjson_mut_doc* doc = yyjson_mut_doc_new(nullptr);
  yyjson_mut_doc_set_root(doc, yyjson_mut_strn(doc, text.data(), text.size()));
  char* json = yyjson_mut_write(doc, 0, nullptr);
  std::string out = json;
  free(json);
  yyjson_mut_doc_free(doc);
  return out;
}

std::string Outcome::error(const char* field) const {
  yyjson_doc* doc = yyjson_read(body.data(), body.size(), 0);
  const char* value = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), field));
  std::string out = value != nullptr ? value : "";
  yyjson_doc_free(doc);
  return out;
}

Host::Host(Limits limits) : dir_(make_dir()) {
  RuntimeOptions options;
  options.lua_dir = PANTO_LUA_DIR;
  options.module_path = std::string(PANTO_LUA_DIR) + "/?.lua;" + PANTO_LUA_DIR + "/?/init.lua";
  options.luv_file = PANTO_TEST_LUV;
  options.log_file = dir_ + "/log";
  options.session = "test-session";
  options.cwd = dir_;
  options.clock_origin_ms = static_cast<double>(uv_hrtime()) / 1e6;
  options.time_origin_ms = 0;
  options.hold_limit_ms = limits.hold_ms * static_cast<uint64_t>(patience());
  options.grace_ms = limits.grace_ms;
  options.closers_ms = limits.closers_ms;
  options.wake = [this] {
    if (!knows_thread_) lua_thread_ = pthread_self();
    knows_thread_ = true;
    take_events();
  };
  runtime_ = std::make_unique<Runtime>(std::move(options));
  std::string error;
  if (!runtime_->start(&error)) fail(__FILE__, __LINE__, error);
  std::unique_lock<std::mutex> lock(mutex_);
  if (!changed_.wait_for(lock, kHang, [this] { return ready_; })) fail(__FILE__, __LINE__, "the runtime does not boot");
}

Host::~Host() {
  if (!runtime_->shutdown(10000 * patience())) fail(__FILE__, __LINE__, "the Lua thread did not end");
  std::filesystem::remove_all(dir_);
}

// On the Lua thread: drain() hands out what it has just sent.
void Host::take_events() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Event& event : runtime_->drain()) {
    switch (event.kind) {
      case EventKind::kReady:
        ready_ = true;
        break;
      case EventKind::kBootFailed:
        fail(__FILE__, __LINE__, event.body);
      case EventKind::kStarted:
        started_.push_back(event.token);
        break;
      case EventKind::kUpdate:
        updates_[event.token].push_back(event.body);
        break;
      case EventKind::kSettledText:
      case EventKind::kSettledJson:
      case EventKind::kSettledError:
        if (!outcomes_.emplace(event.token, Outcome{event.kind, event.body}).second)
          note_failure(__FILE__, __LINE__, "token " + std::to_string(event.token) + " has settled twice");
        settled_.push_back(event.token);
        break;
      case EventKind::kPost:
        break;
      case EventKind::kProblem:
        problems_.push_back(event.body);
        break;
    }
  }
  changed_.notify_all();
}

Outcome Host::control(const std::string& name, const std::string& arguments) {
  Token token = ++last_token_;
  runtime_->send(ControlCall{token, 0, name, arguments});
  return wait(token);
}

void Host::load(const std::string& name, const std::string& text) {
  std::string path = dir_ + "/" + name + ".lua";
  std::ofstream(path, std::ios::binary) << text;
  std::string arguments = R"({"path":)" + quote(path) + R"(,"dir":)" + quote(dir_ + "/" + name) + R"(,"display":)" +
                          quote("extensions/" + name + ".lua") + "}";
  Outcome evaluated = control("evaluate", arguments);
  if (!evaluated.ok()) fail(__FILE__, __LINE__, name + " does not load: " + evaluated.body);
  yyjson_doc* doc = yyjson_read(evaluated.body.data(), evaluated.body.size(), 0);
  size_t index = 0;
  size_t count = 0;
  yyjson_val* entry = nullptr;
  yyjson_arr_foreach(yyjson_doc_get_root(doc), index, count, entry) {
    std::string id = std::to_string(yyjson_get_int(yyjson_obj_get(entry, "id")));
    Outcome activated = control("activate", R"({"entry":)" + id + R"(,"settings":{}})");
    if (!activated.ok()) fail(__FILE__, __LINE__, name + " does not activate: " + activated.body);
  }
  yyjson_doc_free(doc);
}

void Host::load_file(const std::string& file) {
  std::ifstream in(std::string(PANTO_TEST_DIR) + "/" + file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) fail(__FILE__, __LINE__, "cannot read " + file);
  load(std::filesystem::path(file).stem(), text.str());
}

void Host::tools(const std::string& extension, const std::vector<std::pair<std::string, std::string>>& bodies,
                 const std::string& prelude) {
  std::string text = prelude + "\nreturn { name = \"" + extension + "\", activate = function(ext)\n";
  for (const auto& [tool, body] : bodies) {
    text += "ext.register_tool { name = \"" + tool +
            "\", description = \"test\", schema = { type = \"object\" }, handler = function(input, call)\n" + body +
            "\nend }\n";
  }
  load(extension, text + "end }\n");
}

std::vector<Token> Host::start(const std::vector<Call>& calls, bool serial) {
  InvokeBatch batch;
  batch.serial = serial;
  std::vector<Token> tokens;
  for (const Call& call : calls) {
    Token token = ++last_token_;
    tokens.push_back(token);
    batch.calls.push_back(
        CallSpec{token, call.tool, "call_" + std::to_string(token), call.input, std::numeric_limits<double>::infinity()});
  }
  runtime_->send(std::move(batch));
  return tokens;
}

void Host::cancel(Token token, CancelReason reason) { runtime_->send(CancelTask{token, reason}); }

Outcome Host::wait(Token token) {
  std::unique_lock<std::mutex> lock(mutex_);
  auto limit = kHang * patience();
  if (!changed_.wait_for(lock, limit, [&] { return outcomes_.count(token) > 0; }))
    fail(__FILE__, __LINE__, "token " + std::to_string(token) + " does not settle");
  return outcomes_[token];
}

bool Host::has_settled(Token token) {
  std::lock_guard<std::mutex> lock(mutex_);
  return outcomes_.count(token) > 0;
}

size_t Host::settled_count() {
  std::lock_guard<std::mutex> lock(mutex_);
  return settled_.size();
}

std::string Host::text(const std::string& tool, const std::string& input) {
  Outcome outcome = call(tool, input);
  if (outcome.kind != EventKind::kSettledText) fail(__FILE__, __LINE__, tool + " failed: " + outcome.body);
  return outcome.body;
}

std::vector<Token> Host::started() {
  std::lock_guard<std::mutex> lock(mutex_);
  return started_;
}

std::vector<Token> Host::settled() {
  std::lock_guard<std::mutex> lock(mutex_);
  return settled_;
}

std::vector<std::string> Host::updates(Token token) {
  std::lock_guard<std::mutex> lock(mutex_);
  return updates_[token];
}

std::vector<std::string> Host::problems() {
  std::lock_guard<std::mutex> lock(mutex_);
  return problems_;
}

void Host::wait_for_problems(size_t count) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!changed_.wait_for(lock, kHang, [&] { return problems_.size() >= count; }))
    fail(__FILE__, __LINE__, "a problem that should be reported is not");
}

}  // namespace panto::test

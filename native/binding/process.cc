#include "binding/process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "core/shell.h"
#include "lua/lua_main.h"

namespace panto {
namespace {

// Gives descriptors 0 to 2 back what a C program expects of them. Node may have made them non-blocking (stdio
// of C then loses data with EAGAIN), and it closes them on exec (what os.execute starts would have none).
void restore_standard_streams() {
  for (int fd = 0; fd <= 2; fd++) {
    int flags = fcntl(fd, F_GETFL);
    if (flags == -1) continue;
    if ((flags & O_NONBLOCK) != 0) fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
  }
  panto_share_standard_streams();
}

// Node hands arguments over as text, with U+FFFD for bytes that are not UTF-8 (a file name of another
// encoding). Lua's strings are bytes: such arguments are taken from the kernel's copy. It has the same ones
// at its end.
void restore_bytes(std::vector<std::string>* arguments) {
  auto is_damaged = [](const std::string& text) { return text.find("\xEF\xBF\xBD") != std::string::npos; };
  if (std::none_of(arguments->begin(), arguments->end(), is_damaged)) return;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> originals;
  for (std::string word; std::getline(file, word, '\0');) originals.push_back(word);
  // The first is the name that we gave the interpreter.
  if (originals.size() < arguments->size()) return;
  std::copy(originals.end() - (arguments->size() - 1), originals.end(), arguments->begin() + 1);
}

// runLua(argv: string[], path: string | null, cpath: string | null): never
Napi::Value run_lua(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (info.Length() != 3 || !info[0].IsArray())
    throw Napi::TypeError::New(env, "Expected (string[], string | null, string | null)");
  auto list = info[0].As<Napi::Array>();
  std::vector<std::string> arguments;
  for (uint32_t i = 0; i < list.Length(); i++) arguments.push_back(list.Get(i).ToString());
  restore_bytes(&arguments);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::string path = info[1].IsString() ? info[1].ToString() : std::string();
  std::string cpath = info[2].IsString() ? info[2].ToString() : std::string();
  restore_standard_streams();
  signal(SIGPIPE, SIG_DFL);  // Node ignores it; `panto lua … | head` must end
  panto_lua_main(static_cast<int>(arguments.size()), argv.data(), path.empty() ? nullptr : path.c_str(),
                 cpath.empty() ? nullptr : cpath.c_str());
}

// hrtime(): number, milliseconds of libuv's clock
Napi::Value hrtime(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(uv_hrtime()) / 1e6);
}

// divert(fd: number, file: string): number. Descriptor `fd` becomes `file` (appended to); returns a new
// descriptor of what it was. After that no printf in a rock can reach that.
Napi::Value divert(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsNumber() || !info[1].IsString())
    throw Napi::TypeError::New(env, "Expected (fd, file)");
  int fd = info[0].ToNumber();
  std::string file = info[1].ToString();
  int target = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (target == -1) throw Napi::Error::New(env, file + ": " + std::strerror(errno));
  int original = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  bool moved = original != -1 && dup2(target, fd) != -1;
  int cause = errno;
  close(target);
  if (!moved) throw Napi::Error::New(env, std::string("cannot divert a descriptor: ") + std::strerror(cause));
  return Napi::Number::New(env, original);
}

// exitNow(status: number): ends the process without exit handlers, which could wait for a blocked thread for
// ever.
Napi::Value exit_now(const Napi::CallbackInfo& info) {
  _exit(info.Length() > 0 ? info[0].ToNumber().Int32Value() : 0);
}

}  // namespace

void define_process_functions(Napi::Env env, Napi::Object exports) {
  exports.Set("runLua", Napi::Function::New<run_lua>(env, "runLua"));
  exports.Set("hrtime", Napi::Function::New<hrtime>(env, "hrtime"));
  exports.Set("divert", Napi::Function::New<divert>(env, "divert"));
  exports.Set("exitNow", Napi::Function::New<exit_now>(env, "exitNow"));
}

}  // namespace panto

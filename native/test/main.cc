// panto-core-test [--list] [--here] [--seconds N] [--seed N] [--corpus DIR] [PART-OF-A-NAME…]
//
// Runs every test whose name contains one of the parts, each in a process of its own, so that a crash or a hang is one failed test.
// Prints "N passed, N failed"; status 1 when one has failed. --here runs them in this process, for a debugger.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check.h"

namespace panto::test {
namespace {

// A test that has not ended by then hangs.
constexpr unsigned kHangSeconds = 120;
constexpr int kSkipped = 77;

Settings given;
int failures = 0;
bool skipped = false;

[[noreturn]] void usage(const char* program) {
  std::fprintf(stderr, "usage: %s [--list] [--here] [--seconds N] [--seed N] [--corpus DIR] [PART-OF-A-NAME...]\n", program);
  std::exit(2);
}

int run_here(const Test& test) {
  failures = 0;
  skipped = false;
  test.body();
  return failures > 0 ? 1 : skipped ? kSkipped : 0;
}

// The status of the test's process, as a text; empty when it passed.
std::string describe(int status) {
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "hangs" : std::string("died of ") + strsignal(WTERMSIG(status));
  }
  return WEXITSTATUS(status) == 0 ? "" : "status " + std::to_string(WEXITSTATUS(status));
}

int run_apart(const Test& test) {
  std::fflush(nullptr);
  pid_t pid = fork();
  if (pid == -1) {
    std::perror("fork");
    std::exit(2);
  }
  if (pid == 0) {
    // Stress and fuzz bring their time with them.
    alarm(kHangSeconds * static_cast<unsigned>(patience()) + 4 * static_cast<unsigned>(given.seconds));
    std::exit(run_here(test));
  }
  int status = 0;
  while (waitpid(pid, &status, 0) == -1) {
  }
  return status;
}

}  // namespace

const Settings& settings() { return given; }

int patience() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 4;
#else
  return 1;
#endif
}

std::vector<Test>& tests() {
  static std::vector<Test> list;
  return list;
}

void note_failure(const char* file, int line, const std::string& message) {
  failures++;
  std::printf("  %s:%d: %s\n", file, line, message.c_str());
}

void fail(const char* file, int line, const std::string& message) {
  note_failure(file, line, message);
  std::fflush(nullptr);
  // The state of the runtime is unknown; threads of it may still run.
  _exit(1);
}

void skip(const std::string& reason) {
  skipped = true;
  std::printf("  skipped: %s\n", reason.c_str());
}

}  // namespace panto::test

int main(int argc, char** argv) {
  using namespace panto::test;
  bool list = false;
  bool here = false;
  std::vector<std::string> parts;
  for (int i = 1; i < argc; i++) {
    std::string argument = argv[i];
    bool has_value = i + 1 < argc;
    if (argument == "--list") {
      list = true;
    } else if (argument == "--here") {
      here = true;
    } else if (argument == "--seconds" && has_value) {
      given.seconds = std::atof(argv[++i]);
    } else if (argument == "--seed" && has_value) {
      given.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--corpus" && has_value) {
      given.corpus = argv[++i];
    } else if (argument[0] == '-') {
      usage(argv[0]);
    } else {
      parts.push_back(argument);
    }
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  int passed = 0;
  int failed = 0;
  int left_out = 0;
  for (const Test& test : tests()) {
    bool wanted = parts.empty();
    for (const std::string& part : parts) wanted = wanted || test.name.find(part) != std::string::npos;
    if (!wanted) continue;
    std::printf("%s\n", test.name.c_str());
    if (list) continue;
    int status = here ? run_here(test) << 8 : run_apart(test);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) {
      left_out++;
    } else if (std::string outcome = describe(status); outcome.empty()) {
      passed++;
    } else {
      failed++;
      std::printf("  FAILED (%s)\n", outcome.c_str());
    }
  }
  if (list) return 0;
  if (left_out > 0) std::printf("%d skipped\n", left_out);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed > 0 || passed + left_out == 0 ? 1 : 0;
}

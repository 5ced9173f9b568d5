#include "core/children.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <vector>

namespace panto {
namespace {

// Beyond this many, those that have gone are sorted out.
constexpr size_t kPruneAbove = 64;

// Whoever ends the process must not wait for long for a start that hangs (a program on a dead file system).
constexpr std::chrono::milliseconds kKillLimit{100};

std::timed_mutex mutex;
bool accepting = true;
// Leaked on purpose: exit handlers of other threads may come after static destructors.
std::vector<pid_t>& children() {
  static auto* list = new std::vector<pid_t>;
  return *list;
}

// Whether the group of `pid` is that of our child. Until it is reaped that is certain (waitid tells without
// reaping). Afterwards its number stays taken as long as the group has members: a group without a process of
// that number is what the child left behind.
bool is_ours(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0) return true;
  return kill(pid, 0) == -1 && errno == ESRCH && kill(-pid, 0) == 0;
}

}  // namespace

void accept_children() {
  std::lock_guard<std::timed_mutex> lock(mutex);
  accepting = true;
}

bool start_child(const std::function<pid_t()>& start) {
  std::lock_guard<std::timed_mutex> lock(mutex);
  if (!accepting) return false;
  std::vector<pid_t>& list = children();
  if (list.size() >= kPruneAbove) {
    list.erase(std::remove_if(list.begin(), list.end(), [](pid_t old) { return !is_ours(old); }), list.end());
  }
  pid_t pid = start();
  if (pid > 0) list.push_back(pid);
  return true;
}

void child_ended(pid_t pid) {
  std::lock_guard<std::timed_mutex> lock(mutex);
  std::vector<pid_t>& list = children();
  if (!is_ours(pid)) list.erase(std::remove(list.begin(), list.end(), pid), list.end());
}

void kill_children() {
  std::unique_lock<std::timed_mutex> lock(mutex, kKillLimit);
  if (!lock.owns_lock()) return;
  accepting = false;
  for (pid_t pid : children()) {
    if (is_ours(pid)) kill(-pid, SIGKILL);
  }
  children().clear();
}

}  // namespace panto

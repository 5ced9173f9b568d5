#include "core/children.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace panto {
namespace {

// Beyond this many, those that have been reaped are sorted out.
constexpr size_t kPruneAbove = 64;

std::mutex mutex;
// Leaked on purpose: exit handlers of other threads may come after static destructors.
std::vector<pid_t>& children() {
  static auto* list = new std::vector<pid_t>;
  return *list;
}

// A pid that has been reaped may already belong to somebody else; waitid tells without reaping.
bool is_ours(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

void remember_child(pid_t pid) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<pid_t>& list = children();
  if (list.size() >= kPruneAbove) {
    list.erase(std::remove_if(list.begin(), list.end(), [](pid_t old) { return !is_ours(old); }), list.end());
  }
  list.push_back(pid);
}

void kill_children() {
  std::lock_guard<std::mutex> lock(mutex);
  for (pid_t pid : children()) {
    if (is_ours(pid)) kill(-pid, SIGKILL);
  }
  children().clear();
}

}  // namespace panto

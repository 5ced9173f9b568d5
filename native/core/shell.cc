#include "core/shell.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "core/children.h"

extern char** environ;

namespace panto {
namespace {

std::atomic<bool> kept{false};

std::mutex open_mutex;
// Leaked on purpose: another thread may still use it when the process ends.
std::unordered_map<FILE*, pid_t>& open_pipes() {
  static auto* pipes = new std::unordered_map<FILE*, pid_t>;
  return *pipes;
}

#ifdef POSIX_SPAWN_SETSID
constexpr short kOwnGroup = POSIX_SPAWN_SETSID;
#else
constexpr short kOwnGroup = POSIX_SPAWN_SETPGROUP;
#endif

// Starts `sh -c command`. The child's `child_fd` (0 or 1) is `fd`, unless fd is -1. Returns -1 with errno
// set.
pid_t start_shell(const char* command, int fd, int child_fd) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (child_fd != STDIN_FILENO) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  if (fd != -1) posix_spawn_file_actions_adddup2(&actions, fd, child_fd);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);  // Node ignores it, and that would be inherited
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, kOwnGroup | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  char shell[] = "sh";
  char option[] = "-c";
  char* const argv[] = {shell, option, const_cast<char*>(command), nullptr};
  pid_t pid = -1;
  int error = ECANCELED;
  start_child([&] {
    error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv, environ);
    return error == 0 ? pid : -1;
  });
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error == 0 ? pid : -1;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) == -1) {
    if (errno != EINTR) return -1;
  }
  child_ended(pid);
  return status;
}

}  // namespace

void keep_shell_children() {
  panto_share_standard_streams();
  kept = true;
}

}  // namespace panto

using namespace panto;

void panto_share_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    int flags = fcntl(fd, F_GETFD);
    if (flags != -1) fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC);
  }
}

int panto_system(const char* command) {
  if (!kept) return system(command);
  if (command == nullptr) return access("/bin/sh", X_OK) == 0 ? 1 : 0;
  pid_t pid = start_shell(command, -1, -1);
  return pid == -1 ? -1 : wait_for(pid);
}

FILE* panto_popen(const char* command, const char* mode) {
  fflush(nullptr);
  if (!kept) return popen(command, mode);
  bool reads = mode[0] == 'r';
  int ends[2];
  if (pipe(ends) != 0) return nullptr;
  for (int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  int own = ends[reads ? 0 : 1];
  int childs = ends[reads ? 1 : 0];
  FILE* file = fdopen(own, mode);
  if (file == nullptr) {
    int error = errno;
    close(own);
    close(childs);
    errno = error;
    return nullptr;
  }
  pid_t pid = start_shell(command, childs, reads ? STDOUT_FILENO : STDIN_FILENO);
  int error = errno;
  close(childs);
  if (pid == -1) {
    fclose(file);
    errno = error;
    return nullptr;
  }
  std::lock_guard<std::mutex> lock(open_mutex);
  open_pipes()[file] = pid;
  return file;
}

int panto_pclose(FILE* file) {
  pid_t pid = -1;
  {
    std::lock_guard<std::mutex> lock(open_mutex);
    auto found = open_pipes().find(file);
    if (found != open_pipes().end()) {
      pid = found->second;
      open_pipes().erase(found);
    }
  }
  if (pid == -1) return pclose(file);
  fclose(file);
  return wait_for(pid);
}

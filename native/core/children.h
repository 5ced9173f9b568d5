// The processes that Lua started and that must not outlive panto. Callable from every thread.
#pragma once

#include <sys/types.h>

namespace panto {

// `pid` leads a process group of its own.
void remember_child(pid_t pid);

// Kills the group of every remembered child that is still ours.
void kill_children();

}  // namespace panto

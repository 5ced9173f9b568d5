// The processes that Lua started and that must not outlive panto. Callable from every thread.
#pragma once

#include <sys/types.h>

#include <functional>

namespace panto {

// From now on children are started for a new runtime.
void accept_children();

// Starts a child with `start`, which returns its pid, or -1 for none. The child must lead a session of its
// own. False, and nothing is started, after kill_children(): no child slips through between a fork and its
// entry.
bool start_child(const std::function<pid_t()>& start);

// A child that start_child started has been reaped. What it left behind in its group is still killed.
void child_ended(pid_t pid);

// Kills every child with its group, and refuses new ones.
void kill_children();

}  // namespace panto

/* Lua's liolib.c with io.popen on our own popen: native/core/shell.cc. The source itself is not changed. */
#include "lprefix.h"

#include "core/shell.h"
#define l_popen(L, command, mode) ((void)(L), panto_popen(command, mode))
#define l_pclose(L, file) ((void)(L), panto_pclose(file))
#include "liolib.c"

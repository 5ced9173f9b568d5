/* Lua's loslib.c with os.execute on our own system(): native/core/shell.cc. The source itself is not changed.
 */
#include "lprefix.h"

#include "core/shell.h"
#define l_system(command) panto_system(command)
#include "loslib.c"

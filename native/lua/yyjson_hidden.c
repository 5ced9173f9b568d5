/* yyjson, private to the addon: a rock may bring another version of it. */
#pragma GCC visibility push(hidden)
#include "yyjson.c"
#pragma GCC visibility pop

/* yyjson, private to the addon: a rock may bring another version of it. The system's headers come first, so
   that what they declare stays visible. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)
#include "yyjson.c"
#pragma GCC visibility pop

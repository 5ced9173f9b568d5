/* yyjson, private to the addon: a rock may bring another version of it. (Not by a pragma around the file,
   which would hide the C library's functions that it declares.) */
#define yyjson_api __attribute__((visibility("hidden")))
#include "yyjson.c"

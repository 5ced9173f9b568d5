#ifndef PANTO_LUA_MAIN_H
#define PANTO_LUA_MAIN_H

#ifdef __cplusplus
#define _Noreturn [[noreturn]]
extern "C" {
#endif

/* Runs lua.c's main and ends the process with its status: buffered output is written, exit handlers are not
   run. `path` and `cpath` go before package.path and package.cpath; both may be NULL. */
_Noreturn void panto_lua_main(int argc, char **argv, const char *path, const char *cpath);

#ifdef __cplusplus
}
#endif
#endif

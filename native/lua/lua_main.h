#ifndef PANTO_LUA_MAIN_H
#define PANTO_LUA_MAIN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Runs lua.c's main. `path` and `cpath` go before package.path and package.cpath; both may be NULL. Returns
   lua.c's exit status; os.exit in a script ends the process at once. */
int panto_lua_main(int argc, char **argv, const char *path, const char *cpath);

#ifdef __cplusplus
}
#endif
#endif

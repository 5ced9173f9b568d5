/* Upstream's stand-alone interpreter as a function: `panto lua`. Runs on the thread that calls it, the main
   one. What is ours: the tree stands first on package.path and package.cpath, `luv` is the tree's whatever
   else lies on them, readline is looked up at run time, so that the binary does not depend on it, and the
   process ends without exit(): that would take node apart under the feet of its own threads. */
#include "lprefix.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lua/lua_main.h"

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static const char *tree_path;
static const char *tree_cpath;

/* Puts `prefix` before package.FIELD. */
static void prepend(lua_State *L, const char *field, const char *prefix) {
  lua_getfield(L, -1, field); /* stack: package, old */
  lua_pushfstring(L, "%s;%s", prefix, lua_tostring(L, -1));
  lua_setfield(L, -3, field);
  lua_pop(L, 1);
}

/* Upvalues: package.loadlib and the file. */
static int load_luv(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushliteral(L, "luaopen_luv");
  lua_call(L, 2, 2); /* stack: opener or nil, message */
  if (lua_isnil(L, -2)) return luaL_error(L, "error loading module 'luv':\n\t%s", lua_tostring(L, -1));
  lua_pop(L, 1);
  lua_pushliteral(L, "luv");
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_call(L, 2, 1);
  return 1;
}

/* Lua looks for NAME.lua on package.path before it looks for NAME.so, and both may begin with LUA_PATH and
 * LUA_CPATH; a luv that was built for another libuv would end the process. stack: package */
static void preload_luv(lua_State *L) {
  lua_getfield(L, -1, "preload");
  lua_getfield(L, -2, "loadlib");
  lua_getfield(L, -3, "searchpath");
  lua_pushliteral(L, "luv");
  lua_pushstring(L, tree_cpath);
  lua_call(L, 2, 1); /* stack: package, preload, loadlib, file or nil */
  if (!lua_isnil(L, -1)) {
    lua_pushcclosure(L, load_luv, 2);
    lua_setfield(L, -2, "luv");
    lua_pop(L, 1);
  } else {
    lua_pop(L, 3);
  }
}

_Noreturn static void end_process(int status) {
  fflush(NULL);
  _exit(status);
}

/* As in loslib.c, but for the last line. */
static int os_exit(lua_State *L) {
  int status = EXIT_SUCCESS;
  if (lua_isboolean(L, 1)) {
    status = lua_toboolean(L, 1) ? EXIT_SUCCESS : EXIT_FAILURE;
  } else {
    status = (int)luaL_optinteger(L, 1, EXIT_SUCCESS);
  }
  if (lua_toboolean(L, 2)) lua_close(L);
  end_process(status);
}

static void open_libraries(lua_State *L) {
  luaL_openlibs(L);
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_pushcfunction(L, os_exit);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
  if (tree_path == NULL) return;
  lua_getglobal(L, LUA_LOADLIBNAME);
  preload_luv(L);
  prepend(L, "path", tree_path);
  prepend(L, "cpath", tree_cpath);
  lua_pop(L, 1);
}

/* GNU readline's or editline's calls; NULL until a terminal needs them and where neither library is
 * installed. */
static char *(*readline_read)(const char *);
static void (*readline_remember)(const char *);

static void find_readline(void) {
  if (!isatty(STDIN_FILENO)) return;
  static const char *const names[] = {"libreadline.so.8", "libreadline.so.7", "libedit.so.2",
                                      "libedit.3.dylib"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) continue;
    *(void **)&readline_read = dlsym(library, "readline");
    *(void **)&readline_remember = dlsym(library, "add_history");
    if (readline_read != NULL && readline_remember != NULL) return;
  }
  readline_read = NULL;
}

static char *read_line(char *buffer, size_t size, const char *prompt) {
  if (readline_read != NULL) return readline_read(prompt);
  fputs(prompt, stdout);
  fflush(stdout);
  return fgets(buffer, (int)size, stdin);
}

static void remember_line(const char *line) {
  if (readline_read != NULL) readline_remember(line);
}

static void free_line(char *line) {
  if (readline_read != NULL) free(line);
}

#define lua_initreadline(L) ((void)(L), find_readline())
#define lua_readline(L, b, p) ((void)(L), ((b) = read_line(b, LUA_MAXINPUT, p)) != NULL)
#define lua_saveline(L, line) ((void)(L), remember_line(line))
#define lua_freeline(L, b) ((void)(L), free_line(b))
#define luaL_openlibs open_libraries
#define main upstream_main
static int upstream_main(int argc, char **argv);
#include "lua.c"

/* Node takes the buffer away from C's stdout; a script's every write would be a system call. */
static void buffer_standard_output(void) {
  static char buffer[BUFSIZ];
  setvbuf(stdout, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof buffer);
}

void panto_lua_main(int argc, char **argv, const char *path, const char *cpath) {
  tree_path = path;
  tree_cpath = cpath;
  buffer_standard_output();
  end_process(upstream_main(argc, argv));
}

/* Upstream's stand-alone interpreter as a function: `panto lua`. Runs on the thread that calls it, the main
   one. What is ours: the tree stands first on package.path and package.cpath, and readline is looked up at
   run time, so that the binary does not depend on it. */
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

static void open_libraries(lua_State *L) {
  luaL_openlibs(L);
  if (tree_path == NULL) return;
  lua_getglobal(L, LUA_LOADLIBNAME);
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

int panto_lua_main(int argc, char **argv, const char *path, const char *cpath) {
  tree_path = path;
  tree_cpath = cpath;
  return upstream_main(argc, argv);
}

/* What os.execute and io.popen of Lua do. While a runtime lives, their children have a session of their own,
   so that Ctrl-C still reaches panto and its end reaches them; their standard input is empty, since panto's
   is not theirs. In `panto lua` they are the C library's. Callable from every thread. */
#pragma once

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lets children inherit descriptors 0 to 2: libuv has marked all that Node was started with close-on-exec. */
void panto_share_standard_streams(void);

/* As system(3). */
int panto_system(const char *command);
/* As popen(3) and pclose(3). */
FILE *panto_popen(const char *command, const char *mode);
int panto_pclose(FILE *file);

#ifdef __cplusplus
}

namespace panto {
// From now on, in this process, for good.
void keep_shell_children();
}  // namespace panto
#endif

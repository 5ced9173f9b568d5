// A look into a frame of Lua that the API does not give.
#pragma once

#include "lua.h"

#ifdef __cplusplus
extern "C" {
#endif

// In a count hook: the opcode of the instruction that comes next; -1 outside Lua code.
int panto_test_opcode(lua_Debug *event);
int panto_test_opcode_count(void);
const char *panto_test_opcode_name(int opcode);

#ifdef __cplusplus
}
#endif

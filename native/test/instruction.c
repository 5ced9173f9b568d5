#define LUA_CORE
#include "lprefix.h"

#include "instruction.h"

#include "lopcodes.h"
#include "lopnames.h"
#include "lstate.h"

int panto_test_opcode(lua_Debug *event) {
  CallInfo *ci = event->i_ci;
  if (!isLua(ci)) return -1;
  return GET_OPCODE(ci->u.l.savedpc[-1]); /* savedpc is always the one after */
}

int panto_test_opcode_count(void) {
  return NUM_OPCODES;
}

const char *panto_test_opcode_name(int opcode) {
  return opnames[opcode];
}

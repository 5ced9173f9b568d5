// The table `core`: what lua/panto/host.lua is given to build the runtime's Lua side. Extensions never see
// it.
#pragma once

#include <string>

#include "core/messages.h"
#include "lua.hpp"

namespace panto {

// All protected.
void open_core_lib(lua_State* L);
// stack: +1
void push_core_lib(lua_State* L);
// Takes the table of control functions that host.lua returned from the top of the stack.
void set_control_functions(lua_State* L);
// Pushes the control function of that name, or nil. stack: +1
void push_control_function(lua_State* L, const std::string& name);
// Pushes the panto.Call of a task. stack: +1
void push_call_object(lua_State* L, Token token, const std::string& id, const std::string& tool);

}  // namespace panto

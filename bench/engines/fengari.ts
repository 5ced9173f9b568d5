// For information in the batch row: Lua written in JavaScript, through its C-like interface.
import { createRequire } from 'node:module';

type State = { readonly fengari: unique symbol };
type Bytes = Uint8Array;

/** What is used of it here; it has no types of its own. */
interface Fengari {
  lua: {
    LUA_OK: number;
    lua_createtable(L: State, array: number, hash: number): void;
    lua_pcall(L: State, args: number, results: number, handler: number): number;
    lua_pop(L: State, count: number): void;
    lua_pushboolean(L: State, value: boolean): void;
    lua_pushnil(L: State): void;
    lua_pushnumber(L: State, value: number): void;
    lua_pushinteger(L: State, value: number): void;
    lua_pushstring(L: State, text: Bytes): void;
    lua_pushvalue(L: State, index: number): void;
    lua_rawseti(L: State, index: number, key: number): void;
    lua_setfield(L: State, index: number, key: Bytes): void;
    lua_tojsstring(L: State, index: number): string;
  };
  lauxlib: { luaL_newstate(): State; luaL_dostring(L: State, text: Bytes): number };
  lualib: { luaL_openlibs(L: State): void };
  to_luastring(text: string): Bytes;
}

type Value = null | boolean | number | string | readonly Value[] | { readonly [key: string]: Value };

/** A handler (parameter: input) in fengari. */
export function fengariHandler(body: string): { call(json: string): string } {
  const { lua, lauxlib, lualib, to_luastring } = createRequire(import.meta.url)('fengari') as Fengari;
  const L = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(L);
  if (lauxlib.luaL_dostring(L, to_luastring(`return function(input) ${body} end`))) {
    throw new Error(lua.lua_tojsstring(L, -1));
  }

  function push(value: Value): void {
    if (value === null) lua.lua_pushnil(L);
    else if (typeof value === 'boolean') lua.lua_pushboolean(L, value);
    else if (typeof value === 'string') lua.lua_pushstring(L, to_luastring(value));
    else if (typeof value === 'number') pushNumber(value);
    else if (Array.isArray(value)) pushList(value);
    else pushObject(value as { readonly [key: string]: Value });
  }
  function pushNumber(value: number): void {
    if (Number.isInteger(value)) lua.lua_pushinteger(L, value);
    else lua.lua_pushnumber(L, value);
  }
  function pushList(list: readonly Value[]): void {
    lua.lua_createtable(L, list.length, 0);
    for (let i = 0; i < list.length; i++) {
      push(list[i]!);
      lua.lua_rawseti(L, -2, i + 1);
    }
  }
  function pushObject(object: { readonly [key: string]: Value }): void {
    lua.lua_createtable(L, 0, 0);
    for (const [key, value] of Object.entries(object)) {
      push(value);
      lua.lua_setfield(L, -2, to_luastring(key));
    }
  }

  return {
    call(json) {
      lua.lua_pushvalue(L, -1);
      push(JSON.parse(json) as Value);
      const status = lua.lua_pcall(L, 1, 1, 0);
      const text = lua.lua_tojsstring(L, -1);
      lua.lua_pop(L, 1);
      if (status !== lua.LUA_OK) throw new Error(text);
      return text;
    },
  };
}

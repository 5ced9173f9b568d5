// C rocks built against the tree's headers, loaded in `panto lua` and in extensions of the agent's runtime.
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../lib/core/package-root.js';
import { LuaHarness, testTree } from './lua-support.js';
import { LuaPlace } from './panto-lua-support.js';

const rocksDir = join(packageRoot, '.cache/c-rocks');
let place: LuaPlace;
let lua: LuaHarness;

// A rock of our own: calls that yield through C, in the two ways that Lua has for it, and the version it was compiled for.
const probeSource = `
#include "lauxlib.h"
#include "lua.h"
static int finish(lua_State *L, int status, lua_KContext context) {
  lua_pushinteger(L, status);
  lua_pushinteger(L, context);
  return lua_gettop(L);
}
static int callk(lua_State *L) {
  lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, 7, finish);
  return finish(L, LUA_OK, 7);
}
static int pcallk(lua_State *L) {
  return finish(L, lua_pcallk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, 8, finish), 8);
}
static int pcall(lua_State *L) {
  return finish(L, lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0), 9);
}
static int resume(lua_State *L) {
  lua_State *co = lua_newthread(L);
  int results = 0;
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  int status = lua_resume(co, L, 0, &results);
  lua_pushinteger(L, status);
  lua_xmove(co, L, results);
  return results + 1;
}
__attribute__((visibility("default"))) int luaopen_probe(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"callk", callk}, {"pcallk", pcallk}, {"pcall", pcall}, {"resume", resume}, {NULL, NULL}};
  luaL_checkversion(L);
  luaL_newlib(L, functions);
  lua_pushinteger(L, LUA_VERSION_RELEASE_NUM);
  lua_setfield(L, -2, "release");
  return 1;
}
`;

beforeAll(async () => {
  place = new LuaPlace();
  execFileSync(join(packageRoot, 'scripts/build-test-rocks'), [rocksDir, '--include', testTree.include], {
    stdio: 'pipe',
  });
  const source = place.write('probe.c', probeSource);
  const link = process.platform === 'darwin' ? ['-bundle', '-undefined', 'dynamic_lookup'] : ['-shared'];
  execFileSync('cc', ['-O1', '-fPIC', ...link, `-I${testTree.include}`, '-o', join(place.dir, 'probe.so'), source]);
  lua = await LuaHarness.start({ extraCpath: `${rocksDir}/?.so;${place.dir}/?.so` });
});
afterAll(() => {
  lua.stop();
  place.dispose();
});

const cpath = () => ({ LUA_CPATH: `${rocksDir}/?.so;${place.dir}/?.so;;` });

/** Runs the body of a function in both worlds; it returns a string. */
async function inBoth(name: string, body: string): Promise<{ script: string; extension: string }> {
  const chunk = `print((function()\n${body}\nend)())`;
  const { status, stdout, stderr } = await place.run('panto', ['-e', chunk], { env: cpath() });
  if (status !== 0) throw new Error(stderr);
  await lua.tools(name, { [name]: body });
  return { script: stdout.replace(/\n$/, ''), extension: await lua.text(name) };
}

test.each([
  ['luv', 'local uv = require "luv" local t = uv.new_timer() t:close() return type(uv.hrtime())', 'number'],
  [
    'cjson',
    `local cjson = require "cjson"
     local t = cjson.decode '{"a":[1,2,{"b":null}],"c":"\\\\u00e9"}'
     return cjson.encode { t.a[1], t.c, t.a[3].b == cjson.null }`,
    '[1,"é",true]',
  ],
  [
    'lpeg',
    `local lpeg = require "lpeg"
     local number = lpeg.C(lpeg.R "09" ^ 1) / tonumber
     return table.concat(lpeg.Ct(number * ("," * number) ^ 0):match "1,22,333", " ")`,
    '1 22 333',
  ],
  [
    'lfs',
    `local lfs = require "lfs"
     local names = {}
     for name in lfs.dir "/" do names[name] = true end
     return lfs.attributes("/", "mode") .. " " .. tostring(names.tmp)`,
    'directory true',
  ],
  ['probe', 'return tostring(require "probe".release)', '50407'],
])('%s loads and works in a script and in an extension', async (name, body, expected) => {
  expect(await inBoth(`load_${name}`, body)).toEqual({ script: expected, extension: expected });
});

test('a null of cjson is the null of panto.json, both ways', async () => {
  await lua.tools('nulls', {
    nulls: `local cjson, json = require "cjson", panto.json
      assert(cjson.null == json.null and input.v == cjson.null)
      return cjson.encode { json.null, input.v } .. json.encode { cjson.null, cjson.decode "null" }`,
  });
  expect(await lua.text('nulls', { v: null })).toBe('[null,null][null,null]');
});

test('luv runs on the libuv of the process', async () => {
  const { script, extension } = await inBoth('uv_version', 'return require "luv".version_string()');
  expect(script).toBe(process.versions.uv);
  expect(extension).toBe(process.versions.uv);
});

test('children of Lua and of JavaScript at the same time all tell their own exit status', async () => {
  await lua.tools('children', {
    child: `local uv, async = require "luv", panto.async
      return tostring(async.await(function(done)
        assert(uv.spawn("sh", { args = { "-c", "exit 3" } }, function(code, signal) done(code * 1000 + signal) end))
      end))`,
  });
  const specs = Array.from({ length: 40 }, () => ({ tool: 'child' }));
  const ofLua = lua.batch(specs);
  const ofNode = Promise.all(
    specs.map(() =>
      promisify(execFile)('sh', ['-c', 'exit 4']).then(
        () => 0,
        (error: { code: number }) => error.code,
      ),
    ),
  );
  const settled = await ofLua;
  expect(settled.map(({ result }) => result)).toEqual(
    specs.map(() => expect.objectContaining({ ok: true, content: '3000' })),
  );
  expect(await ofNode).toEqual(specs.map(() => 4));
});

describe('C code that calls Lua code that waits', () => {
  const sleeping = (call: string) => `
    local probe, async = require "probe", panto.async
    local function pack(...) return table.concat({ ... }, " ") end
    local function nap(word) async.sleep(0.005) return word, "rested" end
    local function fail() async.sleep(0.005) error("tired", 0) end
    return pack(${call})`;

  test.each([
    ['lua_callk', 'probe.callk(nap, "I")', 'I rested 1 7'],
    ['lua_pcallk', 'probe.pcallk(nap, "I")', 'I rested 1 8'],
    ['lua_pcallk that catches', 'probe.pcallk(fail)', 'tired 2 8'],
    ['lua_callk in lua_pcallk', 'probe.pcallk(probe.callk, nap, "I")', 'I rested 1 7 1 8'],
  ])('%s goes on where it waited', async (name, call, expected) => {
    const tool = name.replace(/\W/g, '_');
    await lua.tools(tool, { [tool]: sleeping(call) });
    expect(await lua.text(tool)).toBe(expected);
  });

  test('lua_pcall, which cannot wait, gives an error that it catches', async () => {
    await lua.tools('pcall', { pcall: sleeping('probe.pcall(nap, "I")'), after: 'return "fine"' });
    expect(await lua.text('pcall')).toMatch(
      /:8: cannot await here: a C function that cannot yield is on the stack 2 9$/,
    );
    expect(await lua.text('after')).toBe('fine');
  });

  test('a coroutine that C resumes gives C what it yields', async () => {
    await lua.tools('resume', {
      resume: 'return table.concat({ require "probe".resume(function() coroutine.yield("a", "b") end) }, " ")',
    });
    expect(await lua.text('resume')).toBe('1 a b');
  });

  test('a script sees the same', async () => {
    const chunk = `local probe = require "probe"
      local co = coroutine.wrap(function() return probe.pcallk(coroutine.yield, "out") end)
      print(co()) print(co("in"))
      print(coroutine.wrap(function() return probe.pcall(coroutine.yield) end)())`;
    const { stdout } = await place.run('panto', ['-e', chunk], { env: cpath() });
    expect(stdout).toBe('out\nin\t1\t8\nattempt to yield across a C-call boundary\t2\t9\n');
  });
});

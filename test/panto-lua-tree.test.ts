// `panto lua` on its tree: what is found from where, in any environment, and under which name.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Place, panto } from './cli-support.js';
import { testTree } from './lua-support.js';
import { LuaPlace } from './panto-lua-support.js';

let place: LuaPlace;
beforeAll(() => {
  place = new LuaPlace();
});
afterAll(() => place.dispose());

const printLuv = 'local uv = require "luv" print(uv.version_string(), uv.new_timer() ~= nil)';
const itsLuv = { status: 0, stderr: '', stdout: expect.stringMatching(/^1\.\d+\.\d+\ttrue\n$/) };

describe('luv is the tree’s', () => {
  test.each(['/', 'HOME', undefined])('from the folder %s', async (cwd) => {
    const options = cwd === undefined ? {} : { cwd: cwd === 'HOME' ? (process.env.HOME ?? '/') : cwd };
    expect(await place.run('panto', ['-e', printLuv], options)).toMatchObject(itsLuv);
  });

  test.each([
    ['junk', { LUA_PATH: ';;;%%?', LUA_CPATH: '\u0001junk', LUA_PATH_5_4: 'x', LUA_CPATH_5_4: ';' }],
    ['empty', { LUA_PATH: '', LUA_CPATH: '' }],
    ['without the default path', { LUA_PATH: '/nowhere/?.lua', LUA_CPATH: '/nowhere/?.so' }],
  ])('with %s in the variables of the path', async (_name, env) => {
    expect(await place.run('panto', ['-e', printLuv], { env })).toMatchObject(itsLuv);
  });

  test('whatever else is called luv on the path or in the folder', async () => {
    const trap = place.write('trap/luv.lua', 'error "a trap"');
    place.write('trap/luv.so', 'not a library');
    const dir = join(trap, '..');
    const env = { LUA_PATH: `${dir}/?.lua;;`, LUA_CPATH: `${dir}/?.so;;` };
    expect(await place.run('panto', ['-e', printLuv], { env, cwd: dir })).toMatchObject(itsLuv);
  });
});

test('coroutines work in the states that luv makes for threads, whatever malloc leaves in new memory', async () => {
  const chunk = `local uv = require "luv"
    local function double(n) return coroutine.wrap(function() coroutine.yield(n * 2) end)() end
    local thread = uv.new_thread(function() assert(coroutine.wrap(function() coroutine.yield(4) end)() == 4) end)
    thread:join()
    local sum = double(0)
    local work = uv.new_work(function(n)
      return coroutine.wrap(function() coroutine.yield(n * 2) end)()
    end, function(value) sum = sum + value end)
    for i = 1, 20 do work:queue(i) end
    uv.run()
    print(sum)`;
  // Where the C library knows it, the variable fills memory with this byte.
  const result = await place.run('panto', ['-e', chunk], { env: { MALLOC_PERTURB_: '165' } });
  expect(result).toEqual({ status: 0, signal: null, stdout: '420\n', stderr: '' });
});

test('modules of the tree go before those of LUA_PATH, which go before the defaults', async () => {
  place.write('mods/own.lua', 'return "own"');
  const chunk = 'print((require "own")) print((package.path:gsub("[^;]*/(share/lua/5.4/%?.lua)", "%1")))';
  const { status, stdout } = await place.run('panto', ['-e', chunk], {
    env: { LUA_PATH: `${join(place.dir, 'mods')}/?.lua;;` },
  });
  expect(status).toBe(0);
  const [own, path = ''] = stdout.split('\n');
  expect(own).toBe('own');
  expect(path.startsWith('share/lua/5.4/?.lua;')).toBe(true);
  expect(path).toMatch(/\/mods\/\?\.lua;.*;\.\/\?\.lua/);
});

test('the wrapper in the tree is an interpreter of its own name, from everywhere and without HOME', () => {
  const run = (args: readonly string[], cwd: string) =>
    spawnSync(testTree.hostLua, args, { cwd, env: { PATH: process.env.PATH ?? '' }, encoding: 'utf8' });
  for (const cwd of ['/', process.env.HOME ?? '/', place.dir]) {
    expect(run(['-e', printLuv], cwd)).toMatchObject(itsLuv);
    const failed = run(['-e', 'error "oops"'], cwd);
    expect(failed.status).toBe(1);
    expect(failed.stderr).toMatch(/:1: oops\nstack traceback:/);
    expect(failed.stderr.startsWith(`${testTree.hostLua}: (command line):1: oops`)).toBe(true);
  }
  const { stdout } = run(['-e', 'print(arg[-3], os.getenv "PANTO_LUA_ARGV0")', '-'], '/');
  expect(stdout).toBe(`${testTree.hostLua}\tnil\n`);
  expect(
    run(['-x'], '/').stderr.startsWith(`${testTree.hostLua}: unrecognized option '-x'\nusage: ${testTree.hostLua}`),
  ).toBe(true);
});

test('a script can name the wrapper as its interpreter', () => {
  const script = place.write('script', `#!${testTree.hostLua}\nprint(arg[0], ...)\nos.exit(4)\n`);
  chmodSync(script, 0o755);
  const { status, stdout } = spawnSync(script, ['a'], { encoding: 'utf8', env: { PATH: process.env.PATH ?? '' } });
  expect({ status, stdout }).toEqual({ status: 4, stdout: `${script}\ta\n` });
});

test('without HOME there is one line and an interpreter without a tree', async () => {
  const env = { HOME: undefined, PANTO_HOME: undefined };
  const { status, stdout, stderr } = await place.run('panto', ['-e', 'print(package.path) print(1 + 1)'], { env });
  expect(status).toBe(0);
  expect(stdout).toMatch(/^\/usr\/local\/share\/lua\/5\.4\/\?\.lua;.*\n2\n$/);
  expect(stderr).toMatch(/^panto: HOME is not set [^\n]+\n$/);
  const withHome = await place.run('panto', ['-e', printLuv], { env: { HOME: undefined } });
  expect(withHome).toMatchObject(itsLuv);
});

describe('with variables of Lua that must not reach it', () => {
  const env = {
    LUA_INIT: 'injected = true print "hi"',
    LUA_INIT_5_4: 'error "x"',
    LUA_PATH: '/junk/?.lua',
    LUA_CPATH: '/junk/?.so',
  };
  let agent: Place;
  let home: string;
  beforeAll(() => {
    agent = new Place();
    home = join(agent.root, 'panto-home');
  });
  afterAll(() => {
    execFileSync('chmod', ['-R', 'u+w', agent.root]);
    agent.dispose();
  });

  test('a bootstrap works, and its tree can be used where it may only be read', async () => {
    expect(await agent.run(['bootstrap'], { env: { ...env, PANTO_HOME: home } })).toMatchObject({ status: 0 });
    const before = readdirSync(home, { recursive: true });
    execFileSync('chmod', ['-R', 'a-w', home]);
    // Root without the right to overrule permissions is refused as anybody is.
    const ordinary = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
    const [command = '', ...args] = [...ordinary, process.execPath, panto, 'lua', '-e', printLuv];
    const spawned = spawnSync(command, args, { env: { ...agent.env, PANTO_HOME: home }, encoding: 'utf8' });
    expect(spawned).toMatchObject(itsLuv);
    expect(readdirSync(home, { recursive: true })).toEqual(before);
  });

  test('extensions of the agent do not see them', async () => {
    agent.write(
      '~/.config/panto/extensions/probe.lua',
      `return { name = "probe", activate = function(ext)
        ext.register_tool { name = "probe", description = "probe", schema = { type = "object" }, read_only = true,
          handler = function() return tostring(injected) .. " " .. tostring(package.path:find("/junk/", 1, true)) end }
      end }`,
    );
    const model = agent.script([{ tool_calls: [{ name: 'probe', input: {} }] }, { text: 'done' }]);
    const { status, stdout } = await agent.run(['-p', 'go', '--model', model, '--output', 'jsonl'], {
      env: { ...env, PANTO_HOME: testTree.pantoHome },
    });
    expect(status).toBe(0);
    const result = stdout.split('\n').find((line) => line.includes('"tool_result"')) ?? '{}';
    expect(JSON.parse(result)).toMatchObject({ name: 'probe', is_error: false, content: 'nil nil' });
  });
});

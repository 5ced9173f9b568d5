// The interpreter's session at a real terminal.
import { existsSync } from 'node:fs';
import { TestTerminal } from './cli-support.js';
import { testTree } from './lua-support.js';
import { LuaPlace } from './panto-lua-support.js';

let place: LuaPlace;
let terminal: TestTerminal;

beforeAll(() => {
  place = new LuaPlace();
});
afterAll(() => place.dispose());
afterEach(() => terminal.kill());

function open(args: readonly string[] = []): TestTerminal {
  const env = { PATH: process.env.PATH ?? '', HOME: place.dir, TERM: 'xterm', PANTO_HOME: testTree.pantoHome };
  terminal = new TestTerminal(['lua', ...args], place.dir, env);
  return terminal;
}

test('a session starts with the version, evaluates, and ends with Ctrl-D', async () => {
  const lua = open();
  await lua.see('Lua 5.4.7  Copyright (C) 1994-2024 Lua.org, PUC-Rio\n> ');
  lua.type('6 * 7\r');
  await lua.see(/\n42\n> /);
  lua.type('for i = 1, 2 do\r');
  await lua.see('>> ');
  lua.type('print("n" .. i) end\r');
  await lua.see(/\nn1\nn2\n> /);
  lua.type('error "oops"\r');
  await lua.see(/stdin:1: oops\nstack traceback:[^>]*\n> /);
  lua.type('require "luv".version() > 0\r');
  await lua.see(/\ntrue\n> /);
  lua.type('\x04');
  expect(await lua.exited).toBe(0);
});

test('Ctrl-C ends what runs, the session goes on', async () => {
  const lua = open(['-i', '-e', 'x = 1']);
  await lua.see('> ');
  lua.type('io.write "running\\n" while true do end\r');
  await lua.see('\nrunning\n');
  lua.type('\x03');
  await lua.see(/interrupted!\nstack traceback:[^>]*\n> /);
  lua.type('x + 1\r');
  await lua.see(/\n2\n> /);
  lua.type('os.exit(7)\r');
  expect(await lua.exited).toBe(7);
});

test('a script reads lines that are typed', async () => {
  const lua = open(['-e', 'io.write "name? " print("hello " .. io.read())']);
  await lua.see('name? ');
  lua.type('world\r');
  await lua.see('\nhello world\n');
  expect(await lua.exited).toBe(0);
});

const libraries = ['/lib', '/usr/lib', '/lib/x86_64-linux-gnu', '/lib/aarch64-linux-gnu', '/usr/lib64'];
const hasReadline = libraries.some((dir) => existsSync(`${dir}/libreadline.so.8`));
if (!hasReadline) console.warn('libreadline.so.8 is not here: the test of line editing is skipped');

(hasReadline ? test : test.skip)('lines can be edited and called back where readline is installed', async () => {
  const lua = open();
  await lua.see('> ');
  lua.type('100 + 20\r');
  await lua.see(/\n120\n> /);
  lua.type('\x1b[A\x1b[D3\r'); // up, left, so that 20 becomes 230
  await lua.see(/\n330\n> /);
  lua.type('\x1b[A\x1b[A\r');
  await lua.see(/\n120\n> /);
  lua.type('\x04');
  expect(await lua.exited).toBe(0);
});

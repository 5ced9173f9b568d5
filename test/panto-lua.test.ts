// `panto lua` is upstream's lua: the same output, messages and status as the stock interpreter, option by option.
import { LuaPlace } from './panto-lua-support.js';

let place: LuaPlace;

beforeAll(() => {
  place = new LuaPlace();
  place.write('m.lua', 'return { name = ..., answer = 42 }');
  place.write(
    'args.lua',
    'local low = 0 while arg[low - 1] do low = low - 1 end\n' +
      'print(#arg, select("#", ...), ...)\nfor i = low + 1, #arg do print(i, arg[i]) end\nprint(low < 0)',
  );
  place.write('init.lua', 'print "init file"');
});
afterAll(() => place.dispose());

const closing = 'setmetatable({}, { __gc = function() print "collected" end })';
const session = `x = 20
x + 1
=x
for i = 1, 2 do
  print(i)
end
error "oops"
error { }
local function
nil +
"after"
`;

describe.each<[string, readonly string[], string, string?]>([
  ['-e runs a chunk', ['-e', 'print(1 + 1)'], '2\n'],
  ['-e takes its chunk in the same word', ['-eprint(...)', '-e', 'print(2)'], '\n2\n'],
  ['chunks run before the script', ['-e', 'x = 1', 'args.lua', 'a'], '1\t1\ta\n'],
  ['-l loads a module into a global', ['-l', 'm', '-e', 'print(m.name, m.answer)'], 'm\t42\n'],
  ['-l loads a module under another name', ['-l', 'g=m', '-e', 'print(g.answer, m)'], '42\tnil\n'],
  ['-v prints the version', ['-v'], 'Lua 5.4.7  Copyright (C) 1994-2024 Lua.org, PUC-Rio\n'],
  ['-W turns warnings on', ['-W', '-e', 'warn("a", "b") print "done"'], 'done\n'],
  ['warnings are off without -W', ['-e', 'warn "hidden" warn "@on" warn "shown"'], ''],
  ['- is the standard input, with arguments', ['-', 'a', 'b'], 'a\tb\n', 'print(...)'],
  [
    'without arguments the standard input is run',
    [],
    '[stdin]\n',
    'print("[" .. debug.getinfo(1, "S").short_src .. "]")',
  ],
  ['-- ends the options', ['--', 'args.lua', '-v'], '1\t1\t-v\n'],
  [
    'the arguments of a script are kept, empty ones too',
    ['args.lua', 'a', '', 'b c', '-e', 'ü'],
    '5\t5\ta\t\tb c\t-e\tü\n',
  ],
  [
    'a script from the standard input reads what follows it',
    ['-e', 'print(io.read("n", "l", "L", "a"))'],
    '12\t\tx\n\ty\nz\n',
    '12\nx\ny\nz',
  ],
  ['-i from a pipe is a session', ['-i'], '> ', session],
  ['-i after a script keeps what it made', ['-e', 'y = 7', '-i', 'm.lua'], '> ', 'y\n'],
  [
    '-i takes the prompts of the script',
    ['-e', '_PROMPT, _PROMPT2 = "one ", "two "', '-i'],
    'one ',
    'do\nprint(1)\nend\n',
  ],
  ['what is printed is bytes', ['-e', 'for i = 0, 255 do io.write(string.char(i)) end'], '\0\u0001'],
  ['children get the standard signal handlers', ['-e', 'print(os.execute "kill -PIPE $$")'], 'nil\tsignal\t13\n'],
  ['the locale is C until the script sets it', ['-e', 'print(os.setlocale(), 1.5)'], 'C\t1.5\n'],
])('%s', (_name, args, expected, input) => {
  test('as the stock interpreter does it, with status 0', async () => {
    const { status, stdout } = await place.runBoth(args, { ...(input !== undefined && { input }) });
    expect(status).toBe(0);
    expect(stdout).toContain(expected);
  });
});

test.each<[string, readonly string[], RegExp]>([
  [
    'an error',
    ['-e', 'error "oops"'],
    /^lua: \(command line\):1: oops\nstack traceback:\n\t\[C\]: in function 'error'/,
  ],
  ['an error object without text', ['-e', 'error {}'], /^lua: \(error object is a table value\)/],
  [
    'an error object with text',
    ['-e', 'error(setmetatable({}, { __tostring = function() return "T" end }))'],
    /^lua: T\n/,
  ],
  ['an error of nil', ['-e', 'error()'], /^lua: nil\n|error object is a nil value/],
  ['a chunk that does not parse', ['-e', 'x ='], /^lua: \(command line\):1: unexpected symbol near <eof>\n/],
  [
    'an error in a function',
    ['-e', 'local function f() error("deep", 2) end\nlocal function g() f() end\ng()'],
    /:2: deep\n/,
  ],
  [
    'an error in a coroutine',
    ['-e', 'coroutine.wrap(function() local x = nil; x() end)()'],
    /attempt to call a nil value/,
  ],
  ['endless recursion', ['-e', 'local function f() return 1 + f() end f()'], /stack overflow/],
  ['a script that is not there', ['nosuch.lua'], /^lua: cannot open nosuch.lua/],
  ['an empty name', [''], /^lua: cannot open /],
  ['a folder as script', ['/'], /^lua: cannot read \//],
  ['an unknown option', ['-x'], /^lua: unrecognized option '-x'\nusage: lua \[options\]/],
  ['a long option', ['--help'], /^lua: unrecognized option '--help'\nusage/],
  ['an option with a tail', ['-vv'], /^lua: unrecognized option '-vv'\nusage/],
  ['-e without a chunk', ['-e'], /^lua: '-e' needs argument\nusage/],
  ['-l without a module', ['-l'], /^lua: '-l' needs argument\nusage/],
])('%s ends with status 1 and the same message', async (_name, args, message) => {
  const { status, stdout, stderr } = await place.runBoth(args);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(message);
});

test.each<[string, Record<string, string>, readonly string[], string]>([
  ['LUA_INIT is run first', { LUA_INIT: 'print "init"' }, ['-e', 'print(1)'], 'init\n1\n'],
  ['LUA_INIT can name a file', { LUA_INIT: '@init.lua' }, ['-e', 'print(1)'], 'init file\n1\n'],
  ['LUA_INIT_5_4 goes before LUA_INIT', { LUA_INIT: 'print "no"', LUA_INIT_5_4: 'print "yes"' }, ['-e', ''], 'yes\n'],
  ['LUA_INIT_5_4 can name a file', { LUA_INIT_5_4: '@init.lua' }, ['-e', ''], 'init file\n'],
  ['-E ignores LUA_INIT', { LUA_INIT: 'print "no"', LUA_INIT_5_4: '@nosuch' }, ['-E', '-e', 'print(1)'], '1\n'],
])('%s', async (_name, env, args, expected) => {
  expect(await place.runBoth(args, { env })).toMatchObject({ status: 0, stdout: expected, stderr: '' });
});

test.each([
  ['text', { LUA_INIT: 'error "bad init"' }, /^lua: LUA_INIT:1: bad init\n/],
  ['a name for this version', { LUA_INIT_5_4: 'error "bad init"' }, /^lua: LUA_INIT_5_4:1: bad init\n/],
  ['a file that is not there', { LUA_INIT: '@nosuch' }, /^lua: cannot open nosuch/],
])('an error in LUA_INIT as %s ends the start', async (_name, env, message) => {
  const { status, stdout, stderr } = await place.runBoth(['-e', 'print(1)'], { env });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(message);
});

test.each([
  ['3', 3, ''],
  ['true', 0, ''],
  ['false', 1, ''],
  ['0, false', 0, ''],
  ['256 + 7', 7, ''],
  ['true, true', 0, 'collected\n'],
  ['5, true', 5, 'collected\n'],
])('os.exit(%s) gives status %d', async (args, status, printed) => {
  const result = await place.runBoth(['-e', `a = ${closing} io.write "written " os.exit(${args})`]);
  expect(result).toEqual({ status, signal: null, stdout: `written ${printed}`, stderr: '' });
});

test('os.exit(3) gives its status every time', async () => {
  for (let round = 0; round < 5; round++) {
    const runs = await Promise.all([1, 2, 3, 4].map(() => place.run('panto', ['-e', 'require "luv" os.exit(3)'])));
    expect(runs.map((run) => run.status)).toEqual([3, 3, 3, 3]);
  }
});

test('the state is closed at the end of a script', async () => {
  const { stdout } = await place.runBoth(['-e', `a = ${closing} print "end"`]);
  expect(stdout).toBe('end\ncollected\n');
});

test('arguments, script names and chunks that are not UTF-8 keep their bytes', async () => {
  place.write('bytes.lua', 'print(arg[0]:byte(1, -1)) print(arg[1]:byte(1, -1))');
  const line = `cp bytes.lua $'b\\xff.lua'; lua $'b\\xff.lua' $'\\xc3\\xa9\\xff\\xfe'; lua -e $'print(("\\xe9"):byte(1, -1))'`;
  const { status, stdout } = await place.shellBoth(line);
  expect(status).toBe(0);
  expect(stdout).toBe('98\t255\t46\t108\t117\t97\n195\t169\t255\t254\n233\n');
});

test('the standard output is buffered when it is no terminal', async () => {
  const { stdout } = await place.shellBoth(`lua -e 'io.write "first " os.execute "printf second"'`);
  expect(stdout).toBe('secondfirst ');
});

test('what a script starts has its three standard streams', async () => {
  const chunk = 'os.execute "cat; echo out; echo err >&2" local p = io.popen("cat", "w") p:write "popen" p:close()';
  expect(await place.runBoth(['-e', chunk], { input: 'in\n' })).toMatchObject({
    stdout: 'in\nout\npopen',
    stderr: 'err\n',
  });
});

test('a full disk under the standard output is no crash', async () => {
  const { stdout } = await place.shellBoth(`lua -e 'print(io.write("x"):flush())' 2>&1 >/dev/full; echo $?`);
  expect(stdout).toBe('0\n');
});

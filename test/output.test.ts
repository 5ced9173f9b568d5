// What extensions, C code in rocks and their commands print corrupts neither an answer, nor the protocol, nor the screen.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSharedTree } from './cli-support.js';
import { extensionOf, Home } from './end-to-end-support.js';
import { testTree } from './lua-support.js';

let home: Home;
let removeTree: () => void;
beforeAll(async () => {
  removeTree = await buildSharedTree();
});
afterAll(() => removeTree());
beforeEach(() => {
  home = new Home();
  home.extension('loud.lua', loud());
});
afterEach(() => home.dispose());

const log = () => readFileSync(join(home.home, '.local/state/panto/log/extensions.log'), 'utf8');

const noisy = `
#include <stdio.h>
#include <unistd.h>
#include "lua.h"
static int noise(lua_State *L) {
  puts("from puts");
  printf("from printf");
  fflush(stdout);
  write(1, "from write\\n", 11);
  fprintf(stderr, "from stderr\\n");
  return 0;
}
int luaopen_noisy(lua_State *L) { lua_pushcfunction(L, noise); return 1; }
`;

/** An extension that prints in every way it can, to descriptor 1 and 2. */
function loud(): string {
  const library = join(home.root, 'noisy.so');
  execFileSync('cc', ['-shared', '-fPIC', '-I', join(testTree.root, 'include'), '-o', library, '-x', 'c', '-'], {
    input: noisy,
  });
  return extensionOf('loud', {
    loud: `print("from print") io.write("from io.write\\n") io.stdout:write("from io.stdout\\n") io.stderr:write("from io.stderr\\n")
      assert(package.loadlib("${library}", "luaopen_noisy"))()()
      os.execute("echo from os.execute; echo error of os.execute >&2")
      panto.async.await(function(resume)
        assert(uv.spawn("sh", { args = { "-c", "echo from spawn; echo error of spawn >&2" }, stdio = { nil, 1, 2 } }, resume))
      end)
      return "said"`,
    asks: `os.execute("cat >executed")
      panto.async.await(function(resume)
        assert(uv.spawn("sh", { args = { "-c", "cat >spawned" }, stdio = { 0, 1, 2 } }, resume))
      end)
      local pipe = io.popen("cat; echo ended")
      return pipe:read("a") .. tostring(io.read())`,
  });
}

const onOutput = ['from puts', 'from printf', 'from write', 'from os.execute', 'from spawn'];
const onError = ['from stderr', 'error of os.execute', 'error of spawn'];
const byLua = ['from print', 'from io.write', 'from io.stdout', 'from io.stderr'];

test('the protocol consists of its own lines only; what was printed is in the log', async () => {
  // Reading the run fails on a line that is no JSON.
  const { status, sent, events, stdout, stderr } = await home.turns([[{ name: 'loud', input: {} }]]);
  expect([status, sent[0]?.[0]?.content]).toEqual([0, 'said']);
  expect(events.at(-1)).toMatchObject({ type: 'agent_end', reason: 'done' });
  expect(stdout.endsWith('\n')).toBe(true);
  for (const text of [...onOutput, ...byLua]) expect(log()).toContain(text);
  for (const text of onError) expect(stderr).toContain(text);
});

test.each([
  ['a pipe', '| cat'],
  ['a file', '>answer; cat answer'],
])('the answer on %s is the answer; descriptor 2 stays the standard error', async (_, to) => {
  const model = home.script([{ tool_calls: [{ name: 'loud', input: {} }] }, { text: 'The answer.' }]);
  const { status, stdout, stderr } = home.shell(`panto -p go --permission auto --model '${model}' ${to}`);
  expect([status, stdout]).toEqual([0, 'The answer.\n']);
  for (const text of onError) expect(stderr).toContain(text);
  for (const text of onOutput) expect(log()).toContain(text);
});

test('without a log that can be written the answer is the answer still', async () => {
  mkdirSync(join(home.home, '.local/state/panto/log/extensions.log'), { recursive: true });
  const { status, sent } = await home.turns([[{ name: 'loud', input: {} }]]);
  expect([status, sent[0]?.[0]?.content]).toEqual([0, 'said']);
});

test('at a terminal nothing of it reaches the screen, and the keys are for panto alone', async () => {
  const tools = [
    { name: 'loud', input: {} },
    { name: 'asks', input: {} },
  ];
  const model = home.script([{ text: 'Before.', tool_calls: tools }, { text: 'After.' }, { text: 'Again.' }]);
  const terminal = home.terminal(['--model', model, '--permission', 'auto']);
  await terminal.see('/help for help');
  terminal.type('hi\r');
  await terminal.see('After.');
  await terminal.see('> ');
  terminal.type('more\r');
  await terminal.see('Again.');
  for (const text of [...onOutput, ...onError, ...byLua]) expect(terminal.text).not.toContain(text);
  for (const text of [...onOutput, ...onError, ...byLua]) expect(log()).toContain(text);
  expect(readFileSync(join(home.project, 'executed'), 'utf8')).toBe('');
  expect(readFileSync(join(home.project, 'spawned'), 'utf8')).toBe('');
  terminal.type('/quit\r');
  expect(await terminal.exited).toBe(0);
});

test('commands of extensions find the end of their input at once', async () => {
  const model = home.script([{ tool_calls: [{ name: 'asks', input: {} }] }, { text: 'done' }]);
  const { status, stdout } = await home.run(
    ['-p', 'go', '--permission', 'auto', '--output', 'jsonl', '--model', model],
    {
      input: 'from a pipe',
    },
  );
  expect(status).toBe(0);
  expect(stdout).toContain('"content":"ended\\nnil"');
});

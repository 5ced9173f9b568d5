import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentEvent, ToolCall, ToolDecl } from '../core/types.js';
import type { LuaEvent } from '../lua/runtime.js';
import type { SessionLua } from './lua-runtime.js';
import type { Notice } from './notice.js';
import { openSession, type SessionOptions } from './session.js';

const root = mkdtempSync(join(tmpdir(), 'panto-session-'));
const home = join(root, 'home');
const project = join(root, 'project');
const tools = join(home, '.config/panto/tools');
beforeAll(() => {
  mkdirSync(project);
  mkdirSync(tools, { recursive: true });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const declare = (name: string): ToolDecl => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  readOnly: true,
});

/** A runtime in plain TypeScript: each file `NAME.lua` is an extension NAME; "broken" does not activate. */
class FakeLua implements SessionLua {
  useLocks(): void {}
  readonly batches: string[][] = [];
  readonly names: string[] = [];
  disposed = 0;
  tools: ToolDecl[];
  #listeners = new Set<(event: LuaEvent) => void>();

  constructor(tools: string[]) {
    this.tools = tools.map(declare);
  }
  get source() {
    const self = this;
    return {
      name: 'panto-lua',
      get tools() {
        return self.tools;
      },
      async invokeBatch(calls: readonly ToolCall[], batch: Parameters<SessionLua['source']['invokeBatch']>[1]) {
        self.batches.push(calls.map((call) => call.toolName));
        for (const [index, call] of calls.entries()) {
          batch.started(index);
          batch.settled(index, { ok: true, content: `${call.toolName} of lua` });
        }
      },
      async dispose() {},
    };
  }
  async evaluate({ path }: { path: string }) {
    const name = path.replace(/^.*\/|\.lua$/g, '');
    return [{ id: this.names.push(name) - 1, name }];
  }
  async activate(entry: number) {
    if (this.names[entry] === 'broken') throw new Error('broken.lua:3: attempt to call a nil value');
  }
  async drop() {}
  commands() {
    return [{ name: 'greet', description: 'greets', extension: 'demo' }];
  }
  async runCommand(name: string, args: string) {
    return `${name}(${args})`;
  }
  on(listener: (event: LuaEvent) => void) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  emit(event: LuaEvent) {
    for (const listener of this.#listeners) listener(event);
  }
  async dispose() {
    this.disposed++;
  }
}

async function open(lua: FakeLua | Error, turns: unknown[] = [], more: Partial<SessionOptions> = {}) {
  const notices: Notice[] = [];
  const script = join(root, 'script.json');
  writeFileSync(script, JSON.stringify({ turns }));
  const session = await openSession({
    model: `scripted:${script}`,
    permission: undefined,
    trust: false,
    debug: false,
    cwd: project,
    env: { HOME: home, PATH: process.env.PATH },
    notify: (notice) => notices.push(notice),
    signal: new AbortController().signal,
    startLua: async () => {
      if (lua instanceof Error) throw lua;
      return lua;
    },
    ...more,
  });
  const events: AgentEvent[] = [];
  session.agent.on((event) => events.push(event));
  const results = () => events.filter((event) => event.type === 'tool_result');
  return { session, notices, events, results, warnings: () => notices.filter(({ level }) => level === 'warning') };
}
const calls = (...names: string[]) => ({ tool_calls: names.map((name) => ({ name, input: {} })) });

test('the Lua tools of one turn are one batch beside native tools, and everything is disposed', async () => {
  const lua = new FakeLua(['one', 'two']);
  const { session, results } = await open(lua, [calls('one', 'ls', 'two'), { text: 'done' }]);
  await session.agent.run('go');
  expect(lua.batches).toEqual([['one', 'two']]);
  expect(results().map(({ result }) => result.ok)).toEqual([true, true, true]);
  await session.dispose();
  expect(lua.disposed).toBe(1);
});

test('a tool that has the name of a native one is refused with a warning that names both; its siblings stay', async () => {
  const lua = new FakeLua(['read', 'mine']);
  const { session, warnings } = await open(lua, [calls('mine'), { text: 'done' }]);
  expect(warnings().map(({ message }) => message)).toEqual([
    expect.stringMatching(/^tool "read" of panto-lua: the name is taken by native \(.*read\.js\)$/),
  ]);
  await session.agent.run('go');
  expect(lua.batches).toEqual([['mine']]);
  expect(warnings()).toHaveLength(1);
  await session.dispose();
});

test('a tool that an extension adds later is there in the next turn', async () => {
  const lua = new FakeLua([]);
  const { session, results } = await open(lua, [calls('late'), calls('late'), { text: 'done' }]);
  session.agent.on((event) => {
    if (event.type !== 'tool_result') return;
    lua.tools = [declare('late')];
    lua.emit({ type: 'tools_changed' });
  });
  await session.agent.run('go');
  expect(results().map(({ result }) => result.ok)).toEqual([false, true]);
  await session.dispose();
});

test('an extension that does not load is one warning; the others and the agent work', async () => {
  writeFileSync(join(tools, 'broken.lua'), '');
  writeFileSync(join(tools, 'good.lua'), '');
  try {
    const { session, warnings } = await open(new FakeLua(['good']), [calls('good'), { text: 'done' }]);
    expect(warnings().map(({ message }) => message)).toEqual([
      expect.stringMatching(/^~\/\.config\/panto\/tools\/broken\.lua: broken\.lua:3: attempt to call a nil value$/),
    ]);
    await session.agent.run('go');
    await session.dispose();
  } finally {
    rmSync(join(tools, 'broken.lua'));
    rmSync(join(tools, 'good.lua'));
  }
});

test('without Lua there is one warning with the cause, and native tools work', async () => {
  const { session, warnings, results } = await open(new Error('the addon does not load'), [
    calls('ls'),
    { text: 'done' },
  ]);
  expect(warnings().map(({ message }) => message)).toEqual(['no Lua extensions: the addon does not load']);
  await session.agent.run('go');
  expect(results().map(({ result }) => result.ok)).toEqual([true]);
  expect(session.commands()).toEqual([]);
  await session.dispose();
});

test('problems and messages of extensions reach the person, with the traceback apart', async () => {
  const lua = new FakeLua([]);
  const { session, notices } = await open(lua);
  lua.emit({ type: 'problem', message: 'demo: demo.lua:7: boom', traceback: 'stack traceback: …' });
  lua.emit({ type: 'notify', level: 'info', text: 'three files', extension: 'demo' });
  expect(notices).toEqual([
    { level: 'warning', message: 'demo: demo.lua:7: boom', traceback: 'stack traceback: …' },
    { level: 'info', message: 'demo: three files' },
  ]);
  await session.dispose();
});

test('commands of extensions are listed and run', async () => {
  const { session } = await open(new FakeLua([]));
  expect(session.commands()).toMatchObject([{ name: 'greet', extension: 'demo' }]);
  expect(await session.runCommand('greet', 'you', new AbortController().signal)).toBe('greet(you)');
  await session.dispose();
});

test('the next request waits until the interface is ready for more', async () => {
  const stages: string[] = [];
  const { session } = await open(new FakeLua([]), [calls('ls'), { text: 'done' }], {
    beforeRequest: async () => {
      stages.push('asked');
      await new Promise((resolve) => setTimeout(resolve, 30));
      stages.push('ready');
    },
  });
  session.agent.on((event) => {
    if (event.type === 'message' && event.message.role === 'assistant') stages.push('answered');
  });
  await session.agent.run('go');
  expect(stages).toEqual(['asked', 'ready', 'answered', 'asked', 'ready', 'answered']);
  await session.dispose();
});

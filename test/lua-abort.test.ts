// Aborted signals of calls reach the Lua thread, whenever they come.
import { errorOf, LuaHarness } from './lua-support.js';

let lua: LuaHarness;

beforeAll(async () => {
  lua = await LuaHarness.start();
  await lua.tools('waits', {
    forever: 'panto.async.sleep(1000)',
    until_cancelled: 'local ok, err = pcall(panto.async.sleep, 1000) error(err)',
    short: 'panto.async.sleep(0.02) return "done"',
  });
});

afterAll(() => lua.stop());

test('a call that is aborted as soon as it was handed over is cancelled; its siblings go on', async () => {
  const controller = new AbortController();
  const batch = lua.batch([{ tool: 'forever', signal: controller.signal }, { tool: 'short' }]);
  controller.abort();
  const [aborted, sibling] = await batch;
  expect(errorOf(aborted!.result).kind).toBe('cancelled');
  expect(sibling!.result).toMatchObject({ ok: true, content: 'done' });
});

test('a call whose signal was aborted before it came is cancelled', async () => {
  const [aborted] = await lua.batch([{ tool: 'forever', signal: AbortSignal.abort() }]);
  expect(errorOf(aborted!.result).kind).toBe('cancelled');
});

test('a call that has waited for a while is cancelled, and one past its deadline is told so', async () => {
  const [cancelled, late] = [new AbortController(), new AbortController()];
  const batch = lua.batch([
    { tool: 'until_cancelled', signal: cancelled.signal },
    { tool: 'until_cancelled', signal: late.signal },
  ]);
  await lua.text('short');
  cancelled.abort();
  late.abort('timeout');
  const kinds = (await batch).map(({ result }) => errorOf(result).kind);
  expect(kinds).toEqual(['cancelled', 'timeout']);
});

test('calls that share one signal are all cancelled by it', async () => {
  const controller = new AbortController();
  const batch = lua.batch(Array.from({ length: 20 }, () => ({ tool: 'forever', signal: controller.signal })));
  await lua.text('short');
  controller.abort();
  const kinds = (await batch).map(({ result }) => errorOf(result).kind);
  expect(kinds).toEqual(Array.from({ length: 20 }, () => 'cancelled'));
});

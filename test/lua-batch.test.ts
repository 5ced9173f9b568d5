// docs/concurrency.md, Tasks: how the calls of one batch start, overlap, settle and fail. The sentence's number stands in each name.
import { errorOf, LuaHarness } from './lua-support.js';

let lua: LuaHarness;

beforeAll(async () => {
  lua = await LuaHarness.start();
  await lua.tools(
    'demo.batch',
    {
      wait: `counter = counter + 1
        panto.async.await(function(resume)
          local timer = uv.new_timer()
          timer:start(input.ms or 200, 0, function() timer:close() resume() end)
        end)
        return tostring(counter)`,
      open: `local err, fd = fs_open(input.path, "r", 438)
        if err then error(err, 0) end
        uv.fs_close(fd)
        return "opened"`,
      order: `table.insert(order, input.n) return table.concat(order, " ")`,
      order_waiting: `table.insert(order, input.n) panto.async.sleep(0.02) table.insert(order, -input.n) return ""`,
      reset_order: `local text = table.concat(order, " ") order = {} return text`,
      fields: `return table.concat({ call.id, call.tool, call.cwd, call.session, tostring(call.nothing) }, "|")`,
      remaining: `return tostring(call:remaining())`,
      result: `local results = {
          text = "text", empty = nil, number = 12.5, integer = 3,
          table = { content = "seen", display = "**shown**", details = { list = panto.json.array {}, n = 2 } },
          parts = { content = { { type = "text", text = "a" }, { type = "image", data = "aGk=", mime = "image/png" } } },
          failed = { content = "no such thing", is_error = true },
          boolean = true, bad_content = { content = 5 }, bad_part = { content = { { type = "video" } } },
          fn = { content = "x", details = print },
        }
        return results[input.kind]`,
      update: `for i = 1, 5 do call:update("step " .. i) panto.async.sleep(0.05) end return "done"`,
      bad_update: `call:update({ content = "x", details = { f = print } }) return "not reached"`,
    },
    `local counter = 0
     local order = {}
     local function fs_open(path, flags, mode)
       local co = coroutine.running()
       uv.fs_open(path, flags, mode, function(err, fd)
         coroutine.resume(co, err, fd)
       end)
       return coroutine.yield()
     end`,
  );
});
afterAll(() => lua.stop());

test('K1 the 16 calls of a batch all begin before the first one ends, and the module counts them', async () => {
  for (const total of [16, 32]) {
    const settled = await lua.batch(Array.from({ length: 16 }, () => ({ tool: 'wait' })));
    const firstEnd = Math.min(...settled.map(({ endedAt }) => endedAt));
    expect(settled.filter(({ startedAt }) => startedAt < firstEnd)).toHaveLength(16);
    expect(settled.map(({ result }) => result)).toEqual(Array(16).fill({ ok: true, content: String(total) }));
  }
});

test('K1 calls begin in call order; each runs until it suspends or ends', async () => {
  await lua.batch([1, 2, 3].map((n) => ({ tool: 'order', input: { n } })));
  expect(await lua.text('reset_order')).toBe('1 2 3');
});

test('K2 a serial batch starts a call when the one before has settled', async () => {
  const calls = [1, 2, 3].map((n) => ({ tool: 'order_waiting', input: { n } }));
  const settled = await lua.batch(calls, true);
  expect(await lua.text('reset_order')).toBe('1 -1 2 -2 3 -3');
  for (let i = 1; i < 3; i++) expect(settled[i]!.startedAt).toBeGreaterThanOrEqual(settled[i - 1]!.endedAt);
  await lua.batch(calls);
  expect(await lua.text('reset_order')).toBe('1 2 3 -1 -2 -3');
});

test('K4 a task that a luv callback resumes by hand settles: the ten-line fs_open wrapper, twice at once', async () => {
  const settled = await lua.batch([
    { tool: 'open', input: { path: '/dev/null' } },
    { tool: 'open', input: { path: '/dev/null' } },
    { tool: 'open', input: { path: '/no/such/file' } },
  ]);
  expect(settled[0]!.result).toEqual({ ok: true, content: 'opened' });
  expect(settled[1]!.result).toEqual({ ok: true, content: 'opened' });
  expect(errorOf(settled[2]!.result).message).toContain('ENOENT');
});

test('K5 an unknown tool, text that is no JSON and a good call: each gets its own result', async () => {
  const settled = await lua.batch([
    { tool: 'nothing_of_that_name' },
    { tool: 'order', text: '{"n": ' },
    { tool: 'order', input: { n: 9 } },
  ]);
  expect(errorOf(settled[0]!.result)).toEqual({
    kind: 'unknown_tool',
    message: 'no Lua tool is named nothing_of_that_name',
  });
  expect(errorOf(settled[1]!.result).kind).toBe('invalid_input');
  expect(errorOf(settled[1]!.result).message).toMatch(/^input is not JSON: .* at line 1, column \d+$/);
  expect(settled[2]!.result.ok).toBe(true);
  await lua.text('reset_order');
});

test('a handler sees id, tool, cwd and session of its call, and no time limit where there is none', async () => {
  const [settled] = await lua.batch([{ tool: 'fields', id: 'toolu_1' }]);
  expect(settled!.result).toEqual({ ok: true, content: `toolu_1|fields|${process.cwd()}|test-session|nil` });
  expect(await lua.text('remaining')).toBe('inf');
});

test('a handler returns text, nothing, a number or a table', async () => {
  const result = (kind: string) => lua.call('result', { kind });
  expect(await result('text')).toEqual({ ok: true, content: 'text' });
  expect(await result('empty')).toEqual({ ok: true, content: '' });
  expect(await result('number')).toEqual({ ok: true, content: '12.5' });
  expect(await result('integer')).toEqual({ ok: true, content: '3' });
  expect(await result('table')).toEqual({
    ok: true,
    content: 'seen',
    display: '**shown**',
    details: { list: [], n: 2 },
  });
  expect(await result('parts')).toMatchObject({ ok: true, content: [{ type: 'text', text: 'a' }, { type: 'image' }] });
  expect(await result('failed')).toEqual({ ok: true, content: 'no such thing', isError: true });
});

test('a result that is none of these is an error that says what was expected', async () => {
  const message = async (kind: string) => errorOf(await lua.call('result', { kind })).message;
  expect(await message('boolean')).toBe(
    'the handler returned a boolean; expected a string, a table with content, or nil',
  );
  expect(await message('bad_content')).toMatch(/^result\.content must be a string or a list/);
  expect(await message('bad_part')).toMatch(/^result\.content must be a string or a list/);
  expect(await message('fn')).toBe('result.details: a function cannot be represented in JSON');
});

test('progress reaches the listener while the call runs, and what cannot be shown throws in the handler', async () => {
  const partials: unknown[] = [];
  const [settled] = await lua.batch([{ tool: 'update', update: (partial) => partials.push(partial) }]);
  expect(settled!.result).toEqual({ ok: true, content: 'done' });
  expect(partials[0]).toBe('step 1');
  expect(partials.length).toBeGreaterThanOrEqual(3);
  expect(errorOf(await lua.call('bad_update')).message).toBe(
    'update.details.f: a function cannot be represented in JSON',
  );
});

test('K7 4096 calls of one batch each settle exactly once', async () => {
  const settled = await lua.batch(
    Array.from({ length: 4096 }, (_, n) => ({ tool: 'result', input: { kind: 'text', n } })),
  );
  expect(settled).toHaveLength(4096);
  expect(settled.every(({ result }) => result.ok && result.content === 'text')).toBe(true);
});

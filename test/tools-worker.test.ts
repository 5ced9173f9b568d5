// The native tools as they ship: dist/tools/NAME.js, imported on a real worker thread; and their declarations.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json } from '../lib/core/types.js';
import { nativeTools } from '../lib/tools/index.js';
import { eventually, markProcesses, temporaryFolder } from './tools-support.js';

const cwd = temporaryFolder();

const WORKER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const controllers = new Map();
  parentPort.on('message', async ({ id, input, abort }) => {
    if (abort) return controllers.get(id).abort(abort);
    const controller = new AbortController();
    controllers.set(id, controller);
    const update = (partial) => parentPort.postMessage({ id, partial });
    try {
      const { run } = await import(workerData.module);
      parentPort.postMessage({ id, result: await run(input, { id, cwd: workerData.cwd, signal: controller.signal, update }) });
    } catch (error) {
      parentPort.postMessage({ id, error: error.message });
    }
  });`;

interface Answer {
  id: number;
  result?: { content: Json; details?: Json } | string;
  error?: string;
  partial?: string;
}

function toolWorker(name: string) {
  const tool = nativeTools.find((candidate) => candidate.name === name);
  const worker = new Worker(WORKER, {
    eval: true,
    workerData: { module: tool?.module.href, cwd },
    env: { ...process.env },
  });
  const answers: Answer[] = [];
  worker.on('message', (answer: Answer) => answers.push(answer));
  const settled = (id: number) => answers.find((answer) => answer.id === id && answer.partial === undefined);
  return {
    worker,
    answers,
    call: (id: number, input: Json) => worker.postMessage({ id, input }),
    abort: (id: number) => worker.postMessage({ id, abort: 'cancelled' }),
    async answer(id: number): Promise<Answer> {
      expect(await eventually(() => settled(id) !== undefined, 20_000)).toBe(true);
      return settled(id) as Answer;
    },
  };
}

test('each tool runs on a worker thread', async () => {
  writeFileSync(join(cwd, 'file.txt'), 'hello\n');
  const inputs: [string, Json, RegExp][] = [
    ['read', { path: 'file.txt' }, /hello/],
    ['edit', { path: 'file.txt', edits: [{ old_text: 'hello', new_text: 'goodbye' }] }, /Made 1 replacement/],
    ['grep', { pattern: 'good', glob: '*.txt' }, /file\.txt:1:goodbye/],
    ['write', { path: 'new.txt', content: 'x' }, /Created new\.txt/],
    ['find', { pattern: '*.txt' }, /file\.txt\\nnew\.txt/],
    ['ls', {}, /file\.txt\\nnew\.txt/],
    ['bash', { command: 'cat file.txt; exit 3' }, /goodbye\\n\\n\[exit status 3\]/],
  ];
  for (const [name, input, expected] of inputs) {
    const { worker, call, answer } = toolWorker(name);
    call(1, input);
    expect(JSON.stringify(await answer(1))).toMatch(expected);
    await worker.terminate();
  }
  expect(inputs.map(([name]) => name).toSorted()).toEqual(nativeTools.map((tool) => tool.name).toSorted());
});

test('several calls run at once on one worker, and one that fails does not touch the others', async () => {
  const { worker, call, answer } = toolWorker('bash');
  call(1, { command: 'touch one; while ! test -e two; do sleep .02; done; echo first' });
  call(2, { command: 'touch two; while ! test -e one; do sleep .02; done; echo second' });
  call(3, { command: 'a\0b' });
  expect(await answer(1)).toMatchObject({ result: { content: 'first' } });
  expect(await answer(2)).toMatchObject({ result: { content: 'second' } });
  expect(await answer(3)).toMatchObject({ error: 'the command contains a NUL character' });
  await worker.terminate();
});

test('after an abort the processes are gone even if the worker is terminated at once', async () => {
  const mark = markProcesses();
  const { worker, call, abort, answers } = toolWorker('bash');
  call(1, { command: 'echo begun; sleep 300 & sleep 300' });
  expect(await eventually(() => answers.some((answer) => answer.partial?.includes('begun')))).toBe(true);
  expect(mark.left().length).toBeGreaterThan(1);
  abort(1);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await worker.terminate();
  expect(await eventually(() => mark.left().length === 0)).toBe(true);
});

test('an aborted call settles within the 500 ms that a worker has, with what it printed', async () => {
  const { worker, call, abort, answer, answers } = toolWorker('bash');
  call(1, { command: 'trap "" TERM; echo begun; while :; do sleep 1; done' });
  expect(await eventually(() => answers.some((one) => one.partial !== undefined))).toBe(true);
  abort(1);
  expect(JSON.stringify(await answer(1))).toContain('begun\\n\\n[aborted');
  await worker.terminate();
});

describe('declarations', () => {
  test.each(nativeTools.map((tool) => [tool.name, tool] as const))(
    '%s has a valid schema and a module that exists',
    (_, tool) => {
      expect(tool.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(new Ajv2020({ strict: true }).compile(tool.inputSchema as object)({ nonsense: 1 })).toBe(false);
      expect(existsSync(tool.module)).toBe(true);
    },
  );

  test('reading tools are said to change nothing, writing tools hold the lock of their file', () => {
    const names = (wanted: (tool: (typeof nativeTools)[number]) => boolean) =>
      nativeTools.filter(wanted).map((tool) => tool.name);
    expect(names((tool) => tool.readOnly === true)).toEqual(['read', 'grep', 'find', 'ls']);
    expect(names((tool) => tool.locks?.includes('/path') === true)).toEqual(['write', 'edit']);
  });

  test('the declarations load no package', () => {
    const source = (file: string): string[] =>
      [...readFileSync(file, 'utf8').matchAll(/^\s*(?:import|export)\b[^;]*?from\s*"([^"]+)"/gm)].map(
        (match) => match[1] ?? '',
      );
    const seen = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const name of source(file)) {
        if (name.startsWith('node:')) continue;
        expect([file, name]).toEqual([file, expect.stringMatching(/^\./)]);
        visit(join(file, '..', name));
      }
    };
    visit(join(nativeTools[0]?.module.pathname ?? '', '../index.js'));
    expect(seen.size).toBeGreaterThan(5);
    expect([...seen].filter((file) => /micromatch|libesm/.test(file))).toEqual([]);
  });
});

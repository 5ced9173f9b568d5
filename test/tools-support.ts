// What the tests of the native tools share: temporary folders, calls, and the search for processes that were left behind.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallContent, Json, NativeRun } from '../lib/core/types.js';
import type { NativeCall, NativeResult } from '../lib/tools/types.js';

/** Temporary folders, and files with whole outputs. */
const leftovers: string[] = [];
afterAll(() => {
  for (const path of leftovers) rmSync(path, { recursive: true, force: true });
});

/** A new folder, removed after the suite. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'panto-tools-')));
  leftovers.push(folder);
  return folder;
}

export interface Invocation {
  result: Promise<NativeResult>;
  updates: string[];
  abort(reason?: string): void;
}

/** Starts `run` as a worker of the agent does. */
export function start(run: NativeRun, input: Json, cwd: string): Invocation {
  const controller = new AbortController();
  const updates: string[] = [];
  const call: NativeCall = {
    id: randomUUID(),
    cwd,
    signal: controller.signal,
    update: (partial) => updates.push(textOf(partial)),
  };
  const result = run(input, call).then(whole);
  result.then(
    ({ details }) => {
      if (typeof details === 'object' && details !== null && 'full_output' in details && details.full_output) {
        leftovers.push(String(details.full_output));
      }
    },
    () => undefined,
  );
  return { result, updates, abort: (reason) => controller.abort(reason) };
}

export function invoke(run: NativeRun, input: Json, cwd: string): Promise<NativeResult> {
  return start(run, input, cwd).result;
}

/** The text of a call that returns one. */
export async function text(run: NativeRun, input: Json, cwd: string): Promise<string> {
  return textOf((await invoke(run, input, cwd)).content);
}

/** The message of a call that fails. */
export async function failure(run: NativeRun, input: Json, cwd: string): Promise<string> {
  try {
    await invoke(run, input, cwd);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the call did not fail');
}

export function textOf(content: CallContent): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : `<${part.mime}>`)).join('\n');
}

export function whole(result: Awaited<ReturnType<NativeRun>>): NativeResult {
  if (typeof result === 'object' && 'content' in result) return result;
  return { content: result };
}

/** Marks every process that is started from now on; `left` lists those of them that still live, as "pid arguments". */
export function markProcesses(): { name: string; value: string; left(): string[] } {
  const name = 'PANTO_TOOLS_TEST_MARK';
  const value = randomUUID();
  process.env[name] = value;
  return { name, value, left: () => readdirSync('/proc').flatMap((pid) => marked(pid, `${name}=${value}`)) };
}

function marked(pid: string, entry: string): string[] {
  if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
  try {
    // A zombie has no environment.
    if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(entry)) return [];
    return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()}`];
  } catch {
    return [];
  }
}

/** Waits until `condition` holds, at most `ms`; tells whether it did. */
export async function eventually(condition: () => boolean, ms = 5000): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; ) {
    if (condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return condition();
}

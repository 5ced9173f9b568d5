// One process that ends while Lua holds something: starts it, waits until Lua holds, lets it end, and tells what it left behind.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../lib/core/package-root.js';
import type { Hold } from './exit-holds.js';

/** How it ends, and the status that this must give. */
export const endings = {
  natural: 0,
  'natural, disposed': 0,
  exit: 7,
  throw: 1,
  reject: 1,
  SIGTERM: 143,
  SIGINT: 130,
} as const;
export type Ending = keyof typeof endings;

/** `node`: a program of its own on the library; `panto`: the command with -p. */
export type Host = 'node' | 'panto';

export interface Outcome {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** From when the end was asked for; milliseconds. */
  readonly tookMs: number;
  /** Processes with the run's marker that are still there. */
  readonly orphans: readonly string[];
  readonly output: string;
}

/** Starting takes the time it takes; what does not end in this has hung. */
const startLimitMs = 40_000;
const endLimitMs = 20_000;

const text = (hold: Hold) => `local uv = require "luv"
return { name = "hold", activate = function(ext)
  ext.register_tool { name = "hold", description = "holds", schema = { type = "object" }, handler = function(input, call)
    ${hold.body}
    return "held"
  end }
end }
`;

/** Runs one case. `pantoHome` has a complete tree. Throws when Lua does not come to hold. */
export async function runToItsEnd(host: Host, hold: Hold, ending: Ending, pantoHome: string): Promise<Outcome> {
  const root = mkdtempSync(join(tmpdir(), 'panto-exit-'));
  const marker = randomUUID();
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: root,
    XDG_CONFIG_HOME: join(root, 'config'),
    PANTO_HOME: pantoHome,
    PANTO_TEST_MARKER: marker,
    PANTO_TEST_ENDING: ending,
  };
  try {
    const command = host === 'node' ? nodeHost(root, hold, ending) : pantoHost(root, hold, ending);
    const child = spawn(process.execPath, command.args, {
      cwd: root,
      env: { ...env, ...command.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const startTimer = setTimeout(() => child.kill('SIGKILL'), startLimitMs);
    let output = '';
    let endAsked = 0;
    let endTimer: NodeJS.Timeout | undefined;
    const onOutput = (chunk: Buffer) => {
      output += chunk.toString();
      if (endAsked !== 0 || !command.holds(output)) return;
      endAsked = performance.now();
      clearTimeout(startTimer);
      endTimer = setTimeout(() => child.kill('SIGKILL'), endLimitMs);
      if (command.signal !== undefined) child.kill(command.signal);
    };
    child.stdout.on('data', onOutput);
    child.stderr.on('data', onOutput);
    const [status, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
      child.once('exit', (...end) => resolve(end)),
    );
    const tookMs = performance.now() - endAsked;
    clearTimeout(startTimer);
    clearTimeout(endTimer);
    if (endAsked === 0) throw new Error(`did not come to hold (${status ?? signal}): ${output}`);
    const left = await orphansOf(marker);
    for (const { pid } of left) process.kill(pid, 'SIGKILL');
    return { status, signal, tookMs, orphans: left.map(({ command }) => command), output };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

interface HostCommand {
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  /** Whether this output says that Lua holds. */
  holds(output: string): boolean;
  /** What asks it to end; undefined: it does so by itself. */
  readonly signal?: NodeJS.Signals;
}

function nodeHost(root: string, hold: Hold, ending: Ending): HostCommand {
  const file = join(root, 'hold.lua');
  writeFileSync(file, text(hold));
  return {
    args: [join(packageRoot, 'out/test/exit-host.js'), file, ending, String(hold.calls ?? 1)],
    env: {},
    holds: (output) => output.includes('holding\n'),
    ...(ending.startsWith('SIG') && { signal: ending as NodeJS.Signals }),
  };
}

function pantoHost(root: string, hold: Hold, ending: Ending): HostCommand {
  const isNatural = ending.startsWith('natural');
  const config = join(root, 'config/panto');
  mkdirSync(join(config, 'extensions'), { recursive: true });
  writeFileSync(join(config, 'extensions/hold.lua'), text(hold));
  // An open call ends the session in order when its time is over.
  if (isNatural && hold.open) writeFileSync(join(config, 'config.toml'), '[lua]\ncall_timeout = "500ms"\n');
  const script = join(root, 'script.json');
  const calls = Array.from({ length: hold.calls ?? 1 }, () => ({ name: 'hold', input: {} }));
  const delay_ms = isNatural ? 0 : 600_000;
  writeFileSync(script, JSON.stringify({ turns: [{ tool_calls: calls }, { text: 'end', delay_ms }] }));
  const preload = pathToFileURL(join(packageRoot, 'out/test/exit-preload.js')).href;
  const ended = hold.open && !isNatural ? 'tool_update' : 'tool_result';
  const signal = ending.startsWith('SIG') ? (ending as NodeJS.Signals) : 'SIGUSR2';
  return {
    args: [
      join(packageRoot, 'bin/panto'),
      '-p',
      'go',
      '--permission',
      'auto',
      '--output',
      'jsonl',
      '--model',
      `scripted:${script}`,
    ],
    env: { NODE_OPTIONS: `--import ${preload}` },
    holds: (output) => output.split(`{"type":"${ended}"`).length > calls.length,
    ...(!isNatural && { signal }),
  };
}

/** Living processes that inherited the marker. They get a moment: SIGKILL is not waited for. */
async function orphansOf(marker: string): Promise<{ pid: number; command: string }[]> {
  for (let tries = 0; ; tries++) {
    const found = readdirSync('/proc').filter(
      (name) => /^\d+$/.test(name) && readProc(name, 'environ').includes(marker),
    );
    if (found.length === 0 || tries === 20) {
      return found.map((pid) => ({ pid: Number(pid), command: readProc(pid, 'cmdline').replaceAll('\0', ' ').trim() }));
    }
    await sleep(50);
  }
}

function readProc(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

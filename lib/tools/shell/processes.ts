// The processes of a command: stops them all (SIGTERM at once, SIGKILL for what is still there a moment later), and tells whether
// any of them outlived the shell.
//
// What belongs to a command is its process group; on Linux also every process of its session (job control makes groups of its
// own) and every descendant that has left the session. A daemon that has cut both ties is not found, and stays.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRelay } from './start.js';

/** Together with the end of the output it must stay well below the 500 ms after which the worker is terminated. */
const GRACE_MS = 200;
const POLL_MS = 20;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  /** Start time; with it a pid that has been given to another process is recognized. */
  readonly started: string;
}

/** Sends SIGTERM before it returns. The promise resolves when nothing is left, or has been sent SIGKILL. */
export function stopSession(leader: number): Promise<void> {
  // Before the first signal: a dead parent no longer leads to its children.
  const members = findMembers(leader);
  signalAll(leader, members, 'SIGTERM');
  return killRest(leader, members);
}

/** Whether a process of the session lives. Undefined: this system does not tell. */
export function hasSurvivors(leader: number): boolean | undefined {
  if (process.platform !== 'linux') return undefined;
  return findMembers(leader).some((found) => found.session === leader);
}

async function killRest(leader: number, members: readonly Process[]): Promise<void> {
  for (let waited = 0; waited < GRACE_MS; waited += POLL_MS) {
    await sleep(POLL_MS);
    if (!anythingLeft(leader, members)) return;
  }
  signalAll(leader, [...members, ...findMembers(leader)], 'SIGKILL');
}

function signalAll(leader: number, members: readonly Process[], signal: NodeJS.Signals): void {
  send(-leader, signal);
  for (const member of members) {
    if (readProcess(member.pid)?.started === member.started) send(member.pid, signal);
  }
}

function anythingLeft(leader: number, members: readonly Process[]): boolean {
  if (process.platform !== 'linux') return send(-leader, 0);
  return members.some(({ pid, started }) => readProcess(pid)?.started === started) || findMembers(leader).length > 0;
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Living processes of the session, and living descendants of any of them or of the leader; without relay and watcher. */
function findMembers(leader: number): Process[] {
  if (process.platform !== 'linux') return [];
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((found) => found !== undefined);
  const members = all.filter((found) => found.session === leader || found.pid === leader);
  const known = new Set([leader, ...members.map((found) => found.pid)]);
  for (let grown = true; grown; ) {
    const next = all.filter((found) => known.has(found.parent) && !known.has(found.pid));
    for (const found of next) known.add(found.pid);
    members.push(...next);
    grown = next.length > 0;
  }
  const helpers = new Set(members.filter((found) => isHelper(found, leader)).map((found) => found.pid));
  return members.filter((found) => !helpers.has(found.pid) && !helpers.has(found.parent));
}

function isHelper({ pid }: Process, leader: number): boolean {
  return pid !== leader && isRelay(read(pid, 'cmdline'));
}

/** Undefined: there is none, or it has ended and only waits to be reaped. */
function readProcess(pid: number): Process | undefined {
  const line = read(pid, 'stat');
  // The second field is the program's name in parentheses and may contain anything; proc(5) numbers them from 1.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): string => fields[number - 3] ?? '';
  if (line === '' || field(3) === 'Z' || field(3) === 'X') return undefined;
  return { pid, parent: Number(field(4)), session: Number(field(6)), started: field(22) };
}

/** Empty if the process has ended. */
function read(pid: number, name: 'stat' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquireLock } from './lock.js';

let dir: string;
let file: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'panto-lock-'));
  file = join(dir, 'lock');
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Writes the lock of some owner; `ageS` seconds ago. */
function leaveLock(text: string, ageS = 0): void {
  writeFileSync(file, text);
  const time = Date.now() / 1000 - ageS;
  utimesSync(file, time, time);
}

/** Whom it waited for, when it had to give up; undefined when it got the lock. */
async function waitsFor(): Promise<number | 'nobody known' | undefined> {
  const abort = new AbortController();
  let owner: number | 'nobody known' | undefined;
  const onWait = (pid: number | undefined) => {
    owner = pid ?? 'nobody known';
    abort.abort();
  };
  try {
    (await acquireLock(file, onWait, abort.signal))();
  } catch {}
  return owner;
}

async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' });
  await new Promise((done) => child.on('close', done));
  return child.pid ?? 0;
}

const ownLock = async () => {
  const release = await acquireLock(file, () => {});
  const text = readFileSync(file, 'utf8');
  release();
  return JSON.parse(text) as { host: string; pid: number; start: string };
};

test('the lock names its owner and is gone when it is given back', async () => {
  const owner = await ownLock();
  expect(owner).toEqual({ host: hostname(), pid: process.pid, start: expect.stringMatching(/\S/) });
  expect(readdirSync(dir)).toEqual([]);
});

test('of many that want it at once one at a time has it', async () => {
  let holders = 0;
  let most = 0;
  const turns = Array.from({ length: 5 }, async () => {
    const release = await acquireLock(file, () => {});
    most = Math.max(most, ++holders);
    await new Promise((done) => setTimeout(done, 5));
    holders--;
    release();
  });
  await Promise.all(turns);
  expect(most).toBe(1);
});

test('a live owner is waited for', async () => {
  leaveLock(JSON.stringify(await ownLock()));
  expect(await waitsFor()).toBe(process.pid);
  expect(existsSync(file)).toBe(true);
});

test('a dead owner, and one whose process id belongs to another by now, are taken over from', async () => {
  const owner = await ownLock();
  leaveLock(JSON.stringify({ ...owner, pid: await deadProcess() }));
  expect(await waitsFor()).toBeUndefined();
  leaveLock(JSON.stringify({ ...owner, start: 'before the last boot 17' }));
  expect(await waitsFor()).toBeUndefined();
});

test('a half-written lock is believed for seconds, one of another host for minutes', async () => {
  leaveLock('');
  expect(await waitsFor()).toBe('nobody known');
  leaveLock('', 10);
  expect(await waitsFor()).toBeUndefined();
  const foreign = JSON.stringify({ host: 'elsewhere.invalid', pid: 1, start: 'x' });
  leaveLock(foreign, 60);
  expect(await waitsFor()).toBe(1);
  leaveLock(foreign, 3600);
  expect(await waitsFor()).toBeUndefined();
});

test('who gives the lock back leaves the lock of somebody who took over alone', async () => {
  const release = await acquireLock(file, () => {});
  leaveLock('somebody else');
  release();
  expect(readFileSync(file, 'utf8')).toBe('somebody else');
});

import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Locks, lockNames } from './locks.js';

test('a lock is held by one at a time, in order of request', async () => {
  const locks = new Locks();
  const log: string[] = [];
  const hold = (who: string, ms: number) =>
    locks.hold('x', async () => {
      log.push(`${who} in`);
      await sleep(ms);
      log.push(`${who} out`);
      return who;
    });
  expect(await Promise.all([hold('a', 30), hold('b', 1), hold('c', 10)])).toEqual(['a', 'b', 'c']);
  expect(log).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
});

test('a run that fails gives the lock back', async () => {
  const locks = new Locks();
  await expect(locks.hold('x', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await locks.hold('x', async () => 'next')).toBe('next');
});

test('several locks are taken as one: tickets never wait for each other in a circle', async () => {
  const locks = new Locks();
  const log: string[] = [];
  const use = async (who: string, names: string[]) => {
    const ticket = locks.request(names);
    await ticket.granted;
    log.push(`${who} in`);
    await sleep(5);
    log.push(`${who} out`);
    ticket.release();
  };
  await Promise.all([use('xy', ['x', 'y']), use('yx', ['y', 'x', 'y']), use('y', ['y']), use('z', ['z'])]);
  expect(log.filter((line) => !line.startsWith('z'))).toEqual(['xy in', 'xy out', 'yx in', 'yx out', 'y in', 'y out']);
  expect(log.indexOf('z in')).toBe(1);
});

test('one that stops waiting leaves the queue, and the next moves up', async () => {
  const locks = new Locks();
  const first = locks.request(['x']);
  const controller = new AbortController();
  const second = locks.hold('x', async () => 'never', controller.signal);
  const third = locks.request(['x']);
  controller.abort();
  await expect(second).rejects.toMatchObject({ name: 'AbortError' });
  expect([first.immediate, third.immediate]).toEqual([true, false]);
  first.release();
  first.release();
  await third.granted;
  third.release();
  expect(locks.request(['x']).immediate).toBe(true);
});

test('a file has one lock, by whatever path it is named, also before it exists', async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'panto-locks-')));
  try {
    await mkdir(join(root, 'real'));
    await symlink('real', join(root, 'link'));
    await writeFile(join(root, 'real/a~b'), '');
    const decl = { name: 'x', description: '', inputSchema: {}, locks: ['/path', '/more/0', '/c~1d', '/none/deep'] };
    const input = { path: 'link/a~b', more: [`${root}/link/new/file`], 'c/d': './real/../link/a~b', none: 3 };
    expect(await lockNames(decl, input, root)).toEqual([
      `file:${root}/real/a~b`,
      `file:${root}/real/new/file`,
      `file:${root}/real/a~b`,
    ]);
    expect(await lockNames({ ...decl, locks: ['/__proto__/x', '/path/length'] }, input, root)).toEqual([]);
  } finally {
    await rm(root, { recursive: true });
  }
});

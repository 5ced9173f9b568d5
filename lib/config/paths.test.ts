import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dataFolder, displayPath, pantoPaths, printable, projectRoot, resolveWrittenPath } from './paths.js';

test('without XDG variables the folders are those of the specification', () => {
  expect(pantoPaths({ HOME: '/home/a' })).toEqual({
    configDir: '/home/a/.config/panto',
    dataDir: '/home/a/.local/share/panto',
    stateDir: '/home/a/.local/state/panto',
    logDir: '/home/a/.local/state/panto/log',
  });
});

test('absolute XDG variables move the folders, and PANTO_HOME is the data folder itself', () => {
  const env = { XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d', XDG_STATE_HOME: '/s' };
  expect(pantoPaths(env)).toEqual({
    configDir: '/c/panto',
    dataDir: '/d/panto',
    stateDir: '/s/panto',
    logDir: '/s/panto/log',
  });
  expect(pantoPaths({ ...env, PANTO_HOME: '/p' }).dataDir).toBe('/p');
});

test('XDG variables that are empty or relative are ignored', () => {
  const env = { HOME: '/h', XDG_CONFIG_HOME: '', XDG_DATA_HOME: 'rel', XDG_STATE_HOME: './rel', PANTO_HOME: '' };
  expect(pantoPaths(env)).toEqual(pantoPaths({ HOME: '/h' }));
});

test.each([undefined, '', 'relative'])('a HOME of %p is one clear line where it is needed', (HOME) => {
  expect(() => pantoPaths({ HOME })).toThrow(
    /^HOME is not set to an absolute path; set HOME or XDG_STATE_HOME, [^\n]+$/,
  );
  expect(() => pantoPaths({ HOME, XDG_STATE_HOME: '/s', XDG_DATA_HOME: '/d' })).toThrow(/set HOME or XDG_CONFIG_HOME/);
  expect(pantoPaths({ HOME, XDG_STATE_HOME: '/s', XDG_CONFIG_HOME: '/c', PANTO_HOME: '/p' }).dataDir).toBe('/p');
});

test('the data folder alone needs no HOME where PANTO_HOME or XDG_DATA_HOME is set', () => {
  expect(dataFolder({ PANTO_HOME: '/p' })).toBe('/p');
  expect(dataFolder({ XDG_DATA_HOME: '/d' })).toBe('/d/panto');
  expect(() => dataFolder({})).toThrow(/set HOME or XDG_DATA_HOME/);
});

test('a relative PANTO_HOME is refused: it would mean another folder in each cwd', () => {
  expect(() => pantoPaths({ HOME: '/h', PANTO_HOME: 'p' })).toThrow('PANTO_HOME must be an absolute path, not "p"');
});

describe('the project root', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await realpath(await mkdtemp(join(tmpdir(), 'panto-root-')));
    await mkdir(join(dir, 'a/b/c'), { recursive: true });
  });
  afterEach(() => rm(dir, { recursive: true }));

  test('is the nearest ancestor with .panto/ or .git', async () => {
    await mkdir(join(dir, '.git'));
    expect(projectRoot(join(dir, 'a/b/c'))).toBe(dir);
    await mkdir(join(dir, 'a/.panto'));
    expect(projectRoot(join(dir, 'a/b/c'))).toBe(join(dir, 'a'));
    expect(projectRoot(join(dir, 'a'))).toBe(join(dir, 'a'));
  });

  test('may be a work tree, where .git is a file; a file named .panto is no project', async () => {
    await writeFile(join(dir, 'a/b/.git'), 'gitdir: elsewhere\n');
    await writeFile(join(dir, 'a/b/c/.panto'), '');
    expect(projectRoot(join(dir, 'a/b/c'))).toBe(join(dir, 'a/b'));
  });

  test('is the cwd where there is neither', () => {
    expect(projectRoot(join(dir, 'a/b'))).toBe(join(dir, 'a/b'));
  });
});

test('paths are shown relative to the project, else with ~, else whole', () => {
  expect(displayPath('/home/a/p/.panto/tools/x.lua', '/home/a/p', '/home/a')).toBe('.panto/tools/x.lua');
  expect(displayPath('/home/a/.config/panto', '/home/a/p', '/home/a')).toBe('~/.config/panto');
  expect(displayPath('/home/ab/x', '/home/a/p', '/home/a')).toBe('/home/ab/x');
  expect(displayPath('/home/a/p/..x', '/home/a/p', '/home/a')).toBe('..x');
  expect(displayPath('/opt/x', undefined, undefined)).toBe('/opt/x');
});

test('a shown path keeps to one line and sends no control sequence to the terminal', () => {
  expect(displayPath('/p/a\n\u001b[31mb\u202e.lua', '/p', undefined)).toBe('a\\x0a\\x1b[31mb\\u202e.lua');
  expect(printable('plain ünï')).toBe('plain ünï');
});

test('written paths start at their base or at ~', () => {
  expect(resolveWrittenPath('./dev', '/p', '/h')).toBe('/p/dev');
  expect(resolveWrittenPath('../dev/', '/p/q', '/h')).toBe('/p/dev');
  expect(resolveWrittenPath('~', '/p', '/h')).toBe('/h');
  expect(resolveWrittenPath('~/x', '/p', '/h')).toBe('/h/x');
  expect(resolveWrittenPath('/abs', '/p', '/h')).toBe('/abs');
  expect(() => resolveWrittenPath('~bob/x', '/p', '/h')).toThrow('"~bob/x": only ~ and ~/… are expanded');
  expect(() => resolveWrittenPath('~/x', '/p', undefined)).toThrow('HOME is not set');
});

// Syncs of one tree that meet, and syncs that are killed.
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { treeAt, treeIsCurrent } from '../lib/rocks/index.js';
import {
  compilers,
  dir,
  home,
  leftovers,
  makeTree,
  script,
  startSync,
  symbols,
  sync,
  waitFor,
} from './bootstrap-harness.js';

describe('syncs that meet or die', () => {
  test('two first starts at once end in one compile', async () => {
    const compiler = script('cc', `echo x >> '${join(dir, 'compiles')}'; exec cc "$@"`);
    const options = { pantoHome: home(), compiler };
    const results = await Promise.all([sync(options), sync(options), sync(options)]);
    expect(results.map(({ result }) => result.kind).sort()).toEqual(['installed', 'ready', 'ready']);
    const waited = results.filter(({ result }) => result.kind === 'ready').flatMap(({ progress }) => progress);
    for (const line of waited) expect(line).toMatch(/^waiting for another panto \(process \d+\) to prepare /);
    expect(readFileSync(join(dir, 'compiles'), 'utf8')).toBe('x\n');
    expect(treeIsCurrent(treeAt(home()))).toBe(true);
    expect(leftovers(treeAt(home()))).toEqual([]);
  });

  test('one that waits takes over when the other is killed while it compiles', async () => {
    const compiler = script('cc', `echo $$ > '${join(dir, 'started')}'; exec sleep 1000`);
    const first = startSync({ pantoHome: home(), compiler });
    await waitFor(() => existsSync(join(dir, 'started')) && statSync(join(dir, 'started')).size > 0);
    const second = startSync({ pantoHome: home() });
    await once(second.child.stderr!, 'data');
    compilers.push(Number(readFileSync(join(dir, 'started'), 'utf8')));
    first.child.kill('SIGKILL');
    const { result, progress } = await second.done;
    expect(result.kind).toBe('installed');
    expect(progress[0]).toContain(`(process ${first.child.pid})`);
    expect(symbols(treeAt(home()).luv)).toMatch(/ T luaopen_luv$/m);
    expect(leftovers(treeAt(home()))).toEqual([]);
  });

  test('a kill at any moment is healed by the next sync', async () => {
    const { luv } = await makeTree();
    writeFileSync(join(dir, 'luv.so'), luv);
    const compiler = script('cc', `cp '${join(dir, 'luv.so')}' luv.so`);
    const tree = treeAt(home());
    const ends: string[] = [];
    for (let delay = 40; delay <= 280; delay += 15) {
      rmSync(tree.luv, { force: true });
      const started = startSync({ pantoHome: home(), compiler });
      await sleep(delay);
      started.child.kill('SIGKILL');
      ends.push(
        await started.done.then(
          ({ result }) => result.kind,
          () => 'killed',
        ),
      );
      if (ends.at(-1) === 'killed') {
        const { result } = await sync({ pantoHome: home(), compiler });
        expect([delay, result.kind]).toEqual([delay, expect.stringMatching(/^(ready|installed)$/)]);
      }
      expect([delay, treeIsCurrent(tree)]).toEqual([delay, true]);
      expect(readFileSync(tree.luv).equals(luv)).toBe(true);
    }
    expect(ends).toContain('killed');
    // A kill after the last file leaves a lock and a folder, and the tree is current; who has work to do next removes them.
    expect((await sync({ pantoHome: home(), compiler, force: true })).result.kind).toBe('installed');
    expect(leftovers(tree)).toEqual([]);
  });
});

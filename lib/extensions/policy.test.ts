import type { Layer, PolicyRule } from '../config/config.js';
import { compareSpecificity, compilePolicy } from './policy.js';

/** `allow`/`deny` lists of the layers as they would stand in their files; the line is the position in the whole. */
type Lists = Partial<Record<Layer, { allow?: string[]; deny?: string[] }>>;
function rulesOf(lists: Lists): PolicyRule[] {
  const rules: PolicyRule[] = [];
  for (const layer of ['base', 'user', 'project'] as const) {
    for (const effect of ['allow', 'deny'] as const) {
      for (const pattern of lists[layer]?.[effect] ?? []) {
        rules.push({ pattern, effect, layer, file: `/${layer}/config.toml`, line: rules.length + 1 });
      }
    }
  }
  return rules;
}

/** Pattern, names that it matches, names that it does not. */
const MATCHING: [string, string, string][] = [
  ['agent', 'agent', 'agents agent.x Agent x.agent'],
  ['agent.skills', 'agent.skills', 'agent agent.skill agent.skills.x agentxskills'],
  ['*', 'agent _x - a-b', 'agent.x a.b.c'],
  ['**', 'agent agent.x a.b.c.d', ''],
  ['agent.*', 'agent.a agent._a', 'agent agent.a.b agents.a'],
  ['agent.**', 'agent agent.a agent.a.b.c', 'agents agents.a x.agent'],
  ['**.x', 'x a.x a.b.x', 'x.a ax a.bx'],
  ['**.x.**', 'x a.x x.a a.x.b', 'xa a.b'],
  ['a.**.b', 'a.b a.c.b a.c.d.b', 'a b a.bc a.b.c'],
  ['a.*.b', 'a.c.b', 'a.b a.c.d.b'],
  ['a.*.**', 'a.b a.b.c', 'a b.a'],
  ['*.**', 'a a.b a.b.c', ''],
  ['**.*', 'a a.b a.b.c', ''],
  ['**.**', 'a a.b', ''],
  ['*.*', 'a.b', 'a a.b.c'],
  ['git-*', 'git-log git-', 'git git.log gitlog'],
  ['*-log', 'git-log -log', 'git-log.x log'],
  ['g?t', 'git g-t', 'gt giit g.t'],
  ['??', 'ab', 'a abc a.b'],
  ['a*b*c', 'abc a-b-c axbxc', 'ab a.b.c acb'],
  ['-*', '-a -', 'a'],
];
test.each(MATCHING)('the pattern %s matches %j and not %j', async (pattern, yes, no) => {
  const policy = await compilePolicy(rulesOf({ user: { deny: [pattern] } }));
  const names = (text: string): string[] => text.split(' ').filter((name) => name !== '');
  expect(names(yes).filter((name) => policy.resolve(name).allowed)).toEqual([]);
  expect(names(no).filter((name) => !policy.resolve(name).allowed)).toEqual([]);
});

/** What is written, the name, the verdict and the pattern that decides. */
const RESOLVING: [string, Lists, string, 'allowed' | 'denied', string | undefined][] = [
  ['nothing written allows', {}, 'agent.x', 'allowed', undefined],
  ['a rule for others allows', { user: { deny: ['b'] } }, 'a', 'allowed', undefined],
  ['an allow alone denies nobody else', { user: { allow: ['a'] } }, 'b', 'allowed', undefined],
  ['a deny denies', { user: { deny: ['a'] } }, 'a', 'denied', 'a'],
  ['an allow alone allows', { user: { allow: ['a'] } }, 'a', 'allowed', 'a'],
  ['deny comes last at equal specificity', { user: { allow: ['a'], deny: ['a'] } }, 'a', 'denied', 'a'],
  [
    'the mission: rules is carved out',
    { base: { deny: ['agent.*'], allow: ['agent.rules'] } },
    'agent.rules',
    'allowed',
    'agent.rules',
  ],
  [
    'the mission: skills stays denied',
    { base: { deny: ['agent.*'], allow: ['agent.rules'] } },
    'agent.skills',
    'denied',
    'agent.*',
  ],
  [
    'the mission: another layer leaves it',
    { base: { deny: ['agent.*'] }, user: { allow: ['foo.bar'] } },
    'agent.x',
    'denied',
    'agent.*',
  ],
  [
    'the mission: both survive',
    { base: { deny: ['agent.*'], allow: ['agent.rules'] }, user: { allow: ['foo.bar'] } },
    'agent.rules',
    'allowed',
    'agent.rules',
  ],
  ['a whitelist denies the rest', { user: { deny: ['**'], allow: ['a.b'] } }, 'x.y.z', 'denied', '**'],
  ['a whitelist lets its own through', { user: { deny: ['**'], allow: ['a.b'] } }, 'a.b', 'allowed', 'a.b'],
  ['* denies one segment only', { user: { deny: ['*'] } }, 'a.b', 'allowed', undefined],
  ['git-* pierces *', { user: { deny: ['*'], allow: ['git-*'] } }, 'git-log', 'allowed', 'git-*'],
  ['git-* pierces * for its own only', { user: { deny: ['*'], allow: ['git-*'] } }, 'svn-log', 'denied', '*'],
  ['git-* pierces * the other way round', { user: { allow: ['*'], deny: ['git-*'] } }, 'git-log', 'denied', 'git-*'],
  [
    'git-* in a lower layer does not pierce',
    { user: { allow: ['git-*'] }, project: { deny: ['*'] } },
    'git-log',
    'denied',
    '*',
  ],
  [
    'git-* in a higher layer does',
    { user: { deny: ['*'] }, project: { allow: ['git-*'] } },
    'git-log',
    'allowed',
    'git-*',
  ],
  [
    'a broad higher rule beats a narrow lower one',
    { user: { deny: ['a.b.c'] }, project: { allow: ['**'] } },
    'a.b.c',
    'allowed',
    '**',
  ],
  [
    'a broad higher deny beats a narrow lower allow',
    { base: { allow: ['a.b'] }, user: { deny: ['a.*'] } },
    'a.b',
    'denied',
    'a.*',
  ],
  [
    'a silent higher layer changes nothing',
    { base: { deny: ['a'] }, user: { deny: ['b'] }, project: { allow: ['c'] } },
    'a',
    'denied',
    'a',
  ],
  [
    'the highest of three decides',
    { base: { deny: ['a'] }, user: { allow: ['a'] }, project: { deny: ['a'] } },
    'a',
    'denied',
    'a',
  ],
  ['the user overrides the base', { base: { deny: ['a'] }, user: { allow: ['a'] } }, 'a', 'allowed', 'a'],
  ['more literal segments: a.b.* > a.*', { user: { deny: ['a.**'], allow: ['a.b.*'] } }, 'a.b.c', 'allowed', 'a.b.*'],
  [
    'more literal segments: a.b.** > a.**',
    { user: { deny: ['a.b.**'], allow: ['a.**'] } },
    'a.b.c',
    'denied',
    'a.b.**',
  ],
  [
    'literal segments count more than characters',
    { user: { allow: ['a.*'], deny: ['*.long-name-*'] } },
    'a.long-name-x',
    'allowed',
    'a.*',
  ],
  ['more segments: *.*.* > **', { user: { deny: ['**'], allow: ['*.*.*'] } }, 'a.b.c', 'allowed', '*.*.*'],
  ['more segments: a.*.* > a.**', { user: { deny: ['a.*.*'], allow: ['a.**'] } }, 'a.b.c', 'denied', 'a.*.*'],
  ['fewer **: a.* > a.**', { user: { deny: ['a.**'], allow: ['a.*'] } }, 'a.b', 'allowed', 'a.*'],
  ['fewer **: the other way round', { user: { allow: ['a.**'], deny: ['a.*'] } }, 'a.b', 'denied', 'a.*'],
  ['fewer ** counts before characters', { user: { deny: ['**.x*'], allow: ['*.*'] } }, 'a.xyz', 'allowed', '*.*'],
  [
    'more literal characters: git-l* > git-*',
    { user: { deny: ['git-l*'], allow: ['git-*'] } },
    'git-log',
    'denied',
    'git-l*',
  ],
  ['a wildcard makes a segment not literal', { user: { deny: ['a.b'], allow: ['a.?'] } }, 'a.b', 'denied', 'a.b'],
  ['? counts like *', { user: { allow: ['a?c'], deny: ['a*'] } }, 'abc', 'allowed', 'a?c'],
  ['equal in all four: deny', { user: { allow: ['a*'], deny: ['*a'] } }, 'aa', 'denied', '*a'],
  ['equal in all four: deny, whatever the order', { user: { allow: ['*a'], deny: ['a*'] } }, 'aa', 'denied', 'a*'],
  ['equal denies: the last in the file is named', { user: { deny: ['*a', 'a*'] } }, 'aa', 'denied', 'a*'],
  ['equal allows: the last in the file is named', { user: { allow: ['a*', '*a'] } }, 'aa', 'allowed', '*a'],
  ['agent.** takes agent too', { user: { deny: ['agent.**'] } }, 'agent', 'denied', 'agent.**'],
  ['names are case-sensitive', { user: { deny: ['Agent'] } }, 'agent', 'allowed', undefined],
];
test.each(RESOLVING)('%s', async (_title, lists, name, verdict, pattern) => {
  const { allowed, rule, matched } = (await compilePolicy(rulesOf(lists))).resolve(name);
  expect([allowed ? 'allowed' : 'denied', rule?.pattern]).toEqual([verdict, pattern]);
  expect(matched.at(-1)).toBe(rule);
});

test('the decision names all rules that matched, weakest first, with their places', async () => {
  const rules = rulesOf({ user: { deny: ['**', 'a.*'], allow: ['zzz'] }, project: { allow: ['a.b'] } });
  const { matched } = (await compilePolicy(rules)).resolve('a.b');
  expect(matched).toEqual([
    { pattern: '**', effect: 'deny', layer: 'user', file: '/user/config.toml', line: 2 },
    { pattern: 'a.*', effect: 'deny', layer: 'user', file: '/user/config.toml', line: 3 },
    { pattern: 'a.b', effect: 'allow', layer: 'project', file: '/project/config.toml', line: 4 },
  ]);
});

test('specificity orders as the four rules say', () => {
  const strongestFirst = ['a.b.c', 'a.b.*', 'a.*.**', 'a.*', 'a.**', 'git-l*.*', '*.*', '*.**', 'git-*', '*', '**'];
  const shuffled = [...strongestFirst].reverse();
  expect(shuffled.sort((a, b) => compareSpecificity(b, a))).toEqual(strongestFirst);
});

describe('against a second, naive implementation', () => {
  /** A small generator of numbers, so that a failure can be repeated. */
  function numbers(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
  }

  function naiveSegment(pattern: string, text: string): boolean {
    if (pattern === '') return text === '';
    if (pattern[0] === '*')
      return naiveSegment(pattern.slice(1), text) || (text !== '' && naiveSegment(pattern, text.slice(1)));
    return (
      text !== '' && (pattern[0] === '?' || pattern[0] === text[0]) && naiveSegment(pattern.slice(1), text.slice(1))
    );
  }
  function naiveMatch(pattern: string[], name: string[]): boolean {
    const [head, ...rest] = pattern;
    if (head === undefined) return name.length === 0;
    if (head === '**') return naiveMatch(rest, name) || (name.length > 0 && naiveMatch(pattern, name.slice(1)));
    return name.length > 0 && naiveSegment(head, name[0]!) && naiveMatch(rest, name.slice(1));
  }
  /** No sorting: for each rule that matches, whether it beats the best so far. */
  function naiveResolve(rules: readonly PolicyRule[], name: string): PolicyRule | undefined {
    const strength = ({ layer, pattern, effect }: PolicyRule): number[] => {
      const segments = pattern.split('.');
      let literal = 0;
      let doubles = 0;
      let characters = 0;
      for (const segment of segments) {
        if (/^[^*?]+$/.test(segment)) literal++;
        if (segment === '**') doubles++;
        for (const char of segment) if (char !== '*' && char !== '?') characters++;
      }
      return [
        { base: 0, user: 1, project: 2 }[layer],
        literal,
        segments.length,
        9 - doubles,
        characters,
        effect === 'deny' ? 1 : 0,
      ];
    };
    let best: PolicyRule | undefined;
    for (const rule of rules) {
      if (!naiveMatch(rule.pattern.split('.'), name.split('.'))) continue;
      const [mine, other] = [strength(rule), best === undefined ? [-1] : strength(best)];
      const at = mine.findIndex((value, i) => value !== other[i]);
      if (at === -1 || mine[at]! > other[at]!) best = rule;
    }
    return best;
  }

  test('18 000 names against 600 random rule lists are resolved alike, to the very rule', async () => {
    const next = numbers(20_240_607);
    const pick = (from: readonly string[]): string => from[next(from.length)]!;
    const join = (from: readonly string[]): string => Array.from({ length: 1 + next(4) }, () => pick(from)).join('.');
    const segments = ['**', '**', '*', '*', 'a', 'b', 'ab', 'a*', '*b', 'a?', '??', '-*', '*a*', '?*', '*-?'];
    const names = ['a', 'b', 'ab', 'ba', 'aab', '-', '-a', 'a-b', '_', 'abab'];
    let matches = 0;
    for (let round = 0; round < 600; round++) {
      const rules = rulesOf({
        base: { deny: [join(segments)] },
        user: { allow: [join(segments), join(segments)], deny: [join(segments), join(segments)] },
        project: { allow: [join(segments)], deny: next(2) === 0 ? [join(segments)] : [] },
      });
      const policy = await compilePolicy(rules);
      for (let i = 0; i < 30; i++) {
        const name = join(names);
        const { allowed, rule } = policy.resolve(name);
        const expected = naiveResolve(rules, name);
        if (expected !== undefined) matches++;
        if (rule !== expected) expect([rules.map((rule) => rule.pattern), name, rule]).toEqual([[], name, expected]);
        if (allowed !== (expected?.effect !== 'deny')) throw new Error(`${name}: allowed is ${allowed}`);
      }
    }
    expect(matches).toBeGreaterThan(4000);
  });
});

// Which extension names are switched on: the allow and deny patterns of all layers, resolved by layer, then specificity, then
// last match. A feature toggle, not a security boundary: denied sources are still evaluated.
import { LAYERS, type PolicyRule } from '../config/config.js';

export interface Decision {
  readonly allowed: boolean;
  /** The rule that decided; absent where none matched, which allows. */
  readonly rule?: PolicyRule;
  /** All rules that matched the name, weakest first; the last one is `rule`. */
  readonly matched: readonly PolicyRule[];
}

export interface Policy {
  resolve(name: string): Decision;
}

/**
 * Orders the rules once, so that the last one that matches a name decides. The patterns have passed the grammar of the config.
 * The glob library is loaded only where there is a rule.
 */
export async function compilePolicy(rules: readonly PolicyRule[]): Promise<Policy> {
  if (rules.length === 0) return { resolve: () => ({ allowed: true, matched: [] }) };
  const { default: micromatch } = await import('micromatch');
  const compiled = [...rules].sort(byStrength).map((rule) => {
    const matchers = globsOf(rule.pattern).map((glob) => micromatch.matcher(glob, MATCH_OPTIONS));
    return { rule, matches: (path: string) => matchers.some((matcher) => matcher(path)) };
  });
  return {
    resolve(name) {
      const path = name.replaceAll('.', '/');
      const matched = compiled.filter(({ matches }) => matches(path)).map(({ rule }) => rule);
      const rule = matched.at(-1);
      return rule === undefined ? { allowed: true, matched } : { allowed: rule.effect === 'allow', rule, matched };
    },
  };
}

const MATCH_OPTIONS = { nonegate: true, nobrace: true, noext: true, nobracket: true, nocase: false, dot: true };

/**
 * The pattern in the library's terms, with `/` between segments. There `**` stands for zero segments behind a literal but not
 * behind a wildcard (`a.*.**` would not match `a.b`), so a trailing one is tried both with and without.
 */
function globsOf(pattern: string): string[] {
  const segments = pattern.split('.').filter((segment, index, all) => segment !== '**' || all[index - 1] !== '**');
  const globs = [segments.join('/')];
  if (segments.at(-1) === '**' && segments.length > 1) globs.push(segments.slice(0, -1).join('/'));
  return globs;
}

/** Weaker rules first: by layer, then specificity; `deny` behind `allow` of the same specificity; the sort keeps the order of the file. */
function byStrength(a: PolicyRule, b: PolicyRule): number {
  return (
    LAYERS.indexOf(a.layer) - LAYERS.indexOf(b.layer) ||
    compareSpecificity(a.pattern, b.pattern) ||
    Number(a.effect === 'deny') - Number(b.effect === 'deny')
  );
}

/**
 * Negative where `a` is less specific. In this order: more literal segments, more segments, fewer `**`, more literal characters.
 * Only meaningful between patterns that match the same name.
 */
export function compareSpecificity(a: string, b: string): number {
  const [left, right] = [specificity(a), specificity(b)];
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return left[i]! - right[i]!;
  return 0;
}

function specificity(pattern: string): number[] {
  const segments = pattern.split('.');
  return [
    segments.filter((segment) => !/[*?]/.test(segment)).length,
    segments.length,
    -segments.filter((segment) => segment === '**').length,
    pattern.replace(/[*?.]/g, '').length,
  ];
}

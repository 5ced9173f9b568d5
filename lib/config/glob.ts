// The grammar of allow/deny patterns: dotted segments of letters, digits, `_`, `-`, with `*` and `?` inside a segment and `**`
// as a whole one. Whatever else a glob library would read (`!`, brackets, braces, …) is refused rather than guessed at.

const SEGMENT = '(\\*\\*|([A-Za-z0-9_?-]|\\*(?!\\*))+)';
/** The same grammar as one regular expression, for the published schema. */
export const GLOB_PATTERN = `^${SEGMENT}(\\.${SEGMENT})*$`;

/** Why the text is no allow/deny pattern; undefined if it is one. */
export function globProblem(pattern: string): string | undefined {
  if (pattern === '') return 'an empty pattern matches nothing; remove it';
  const strange = /[^A-Za-z0-9_.*?-]/u.exec(pattern);
  if (strange !== null) {
    return `"${strange[0]}" has no meaning in a pattern; use letters, digits, _ and -, with *, ? and ** (a whole segment)`;
  }
  for (const segment of pattern.split('.')) {
    if (segment === '') return 'a segment between two dots must not be empty';
    if (segment !== '**' && segment.includes('**')) return '** must be a whole segment, as in "agent.**"';
  }
  return undefined;
}

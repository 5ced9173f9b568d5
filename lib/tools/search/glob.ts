// File globs of grep and find. A glob without "/" is about the file name, at any depth; one with "/" is about the path
// below the folder that is searched. `*` and `?` stay within a name, `**` crosses folders, `{a,b}` and `[ab]` are known; hidden
// names match like others. A leading "!" turns the glob around.

export interface Glob {
  /** `path`: relative to the searched folder, with "/" between names, none at its end. */
  matches(path: string): boolean;
  /** The glob ended in "/": folders only. */
  readonly foldersOnly: boolean;
}

export async function compileGlob(pattern: string): Promise<Glob> {
  const { default: micromatch } = await import('micromatch');
  const foldersOnly = pattern.endsWith('/');
  const trimmed = pattern.replace(/^(!?)(?:\.\/|\/)+/, '$1').replace(/\/+$/, '');
  if (trimmed === '' || trimmed === '!') throw new Error(`invalid glob ${JSON.stringify(pattern)}: it names nothing`);
  const byName = !trimmed.includes('/');
  try {
    const matches = micromatch.matcher(trimmed, { dot: true, ...(byName ? { basename: true } : {}) });
    return { foldersOnly, matches: (path) => matches(byName ? path.slice(path.lastIndexOf('/') + 1) : path) };
  } catch (error) {
    throw new Error(
      `invalid glob ${JSON.stringify(pattern)}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/**
 * The part of a glob that ripgrep can test on file names (its last part), to read fewer files; undefined where the two might
 * disagree. It is given to ripgrep as a file type, because --glob would bring back files that .gitignore excludes.
 */
export function nameGlob(pattern: string): string | undefined {
  const last = pattern.slice(pattern.lastIndexOf('/') + 1);
  if (pattern.startsWith('!') || !/^[\w.*?-]+(?:\{[\w.*?-]+(?:,[\w.*?-]+)*\})?[\w.*?-]*$/.test(last)) return undefined;
  return last.includes('**') || last.includes('..') ? undefined : last;
}

// Strict reading of arguments. citty alone accepts unknown flags, drops repeated ones and strips `--no-…` out of values; so
// every argument is checked against the definition first and handed to citty in a form that it reads one way only.
import { parseArgs } from 'node:util';
import type { ArgDef, ArgsDef } from 'citty';
import { closest } from '../config/suggest.js';
import { cleanLine } from '../ui/clean.js';

/** Bad usage: the process ends with status 2. The message is one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export type Checked =
  | { readonly kind: 'help' }
  /** Unambiguous arguments for citty, and all that are no flags, in order. */
  | { readonly kind: 'run'; readonly rawArgs: string[]; readonly words: readonly string[] };

const help: ArgDef = { type: 'boolean', alias: 'h', description: 'Show this help' };

/** The definition with what every command has. */
export function withHelp(args: ArgsDef): ArgsDef {
  return { ...args, help };
}

/**
 * Checks arguments against a definition. `words` says how many arguments that are no flags there may be.
 * @throws UsageError that names the argument and what to write instead.
 */
export function checkArguments(definition: ArgsDef, args: readonly string[], maxWords: number): Checked {
  const flags = Object.entries(withHelp(definition)).filter(([, flag]) => flag.type !== 'positional');
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      flags.map(([name, flag]) => [
        name,
        { type: flag.type === 'boolean' ? 'boolean' : 'string', ...(shortOf(flag) && { short: shortOf(flag) }) },
      ]),
    ) as Record<string, { type: 'boolean' | 'string'; short?: string }>,
  });
  const rawArgs: string[] = [];
  const words: string[] = [];
  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const flag = flags.find(([name]) => name === token.name)?.[1];
    if (!flag)
      throw unknownFlag(
        token.rawName,
        flags.map(([name]) => name),
      );
    if (token.name === 'help') return { kind: 'help' };
    if (seen.has(token.name)) throw new UsageError(`${token.rawName} is given twice`);
    seen.add(token.name);
    const value = checkValue(token.rawName, flag, token.value, token.inlineValue === true);
    rawArgs.push(value === undefined ? `--${token.name}` : `--${token.name}=${value}`);
  }
  const [extra] = words.slice(maxWords);
  if (extra !== undefined) throw new UsageError(`unexpected argument "${cleanLine(extra)}"`);
  return { kind: 'run', rawArgs: words.length === 0 ? rawArgs : [...rawArgs, '--', ...words], words };
}

function shortOf(flag: ArgDef): string | undefined {
  return 'alias' in flag ? [flag.alias ?? []].flat().find((alias) => alias.length === 1) : undefined;
}

function checkValue(rawName: string, flag: ArgDef, value: string | undefined, inline: boolean): string | undefined {
  if (flag.type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`);
    return undefined;
  }
  const hint = flag.valueHint ?? 'VALUE';
  // What looks like a flag was meant as one; a text such as "- fix this" does not.
  if (value === undefined || (!inline && /^--?[A-Za-z][\w-]*(=\S*)?$/.test(value))) {
    throw new UsageError(`${rawName} needs a value: ${rawName}${rawName.startsWith('--') ? '=' : ' '}${hint}`);
  }
  if (flag.type === 'enum' && !flag.options?.includes(value)) {
    throw new UsageError(`${rawName} must be one of ${flag.options?.join(', ')}, not "${cleanLine(value)}"`);
  }
  return value;
}

function unknownFlag(rawName: string, names: readonly string[]): UsageError {
  const near = closest(rawName.replace(/^-+/, ''), names);
  return new UsageError(`unknown flag ${cleanLine(rawName)}${near ? `; did you mean --${near}?` : ''}`);
}

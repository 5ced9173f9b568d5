// What --help prints. Not citty's renderer: it pads lines and colours them whatever the output is.
import type { ArgDef, ArgsDef } from 'citty';
import { createStyle, wantsColour } from '../ui/style.js';
import { withHelp } from './args.js';
import { type Command, chatCommand, commands } from './commands.js';

/** Help of one command; that of panto itself lists the commands, too. */
export function helpText(command: Command, definition: ArgsDef): string {
  const entries = Object.entries(withHelp(definition));
  const words = entries.filter(([, argument]) => argument.type === 'positional');
  const flags = entries.filter(([, argument]) => argument.type !== 'positional');
  const usage = ['panto', command.words, '[flags]', ...words.map(([name]) => `[${name.toUpperCase()}]`)];
  const sections = [
    `${command.description}.`,
    `${title('Usage')} ${usage.filter((part) => part !== '').join(' ')}`,
    ...(words.length > 0
      ? [rows(words.map(([name, argument]) => [name.toUpperCase(), argument.description ?? '']))]
      : []),
    `${title('Flags')}\n${rows(flags.map(([name, flag]) => [flagText(name, flag), flag.description ?? '']))}`,
  ];
  if (command === chatCommand) sections.push(`${title('Commands')}\n${commandList(commands)}`, examples());
  return sections.join('\n\n');
}

/** Help of a first word that only groups commands. */
export function groupHelp(group: string): string {
  return commandList(commands.filter((command) => command.words.startsWith(`${group} `)));
}

function commandList(list: readonly Command[]): string {
  return rows(list.map((command) => [`panto ${command.words}`, command.description]));
}

function flagText(name: string, flag: ArgDef): string {
  const short = 'alias' in flag && flag.alias ? `-${flag.alias}, ` : '    ';
  const options = flag.type === 'enum' ? flag.options?.join('|') : flag.valueHint;
  return `${short}--${name}${options === undefined ? '' : ` ${options}`}`;
}

function rows(table: readonly (readonly [string, string])[]): string {
  const width = Math.max(...table.map(([left]) => left.length));
  return table.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}

function title(text: string): string {
  return createStyle(wantsColour(process.stdout, process.env)).bold(`${text}:`);
}

function examples(): string {
  const lines = rows([
    ['panto', 'an interactive session'],
    ['panto "fix the failing test"', 'the same, with its first prompt'],
    ['panto -p "what does this do?"', 'one answer on stdout, all else on stderr'],
    ['git diff | panto -p "review"', 'a pipe is added to the prompt; -p - takes all of it from there'],
  ]);
  return `${title('Examples')}
${lines}

Exit status: 0, 1 failed, 2 bad usage, 130 and 143 after SIGINT and SIGTERM, 141 when the reader of stdout went away.`;
}

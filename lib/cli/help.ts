// What --help prints.
import { stripVTControlCharacters } from 'node:util';
import { type ArgsDef, renderUsage } from 'citty';
import { wantsColour } from '../ui/style.js';
import { withHelp } from './args.js';
import { type Command, chatCommand, commands } from './commands.js';

/** Help of one command; that of panto itself lists the commands, too. */
export async function helpText(command: Command, args: ArgsDef): Promise<string> {
  const isMain = command === chatCommand;
  const meta = { name: `panto ${command.words}`.trim(), description: command.description, version: PANTO_VERSION };
  const usage = plain(await renderUsage({ meta, args: withHelp(args) })).trimEnd();
  return isMain ? `${usage}\n\nCOMMANDS\n\n${commandList(commands)}\n\n${examples}` : usage;
}

/** Help of a first word that only groups commands. */
export function groupHelp(group: string): string {
  return commandList(commands.filter((command) => command.words.startsWith(`${group} `)));
}

function commandList(list: readonly Command[]): string {
  const width = Math.max(...list.map((command) => command.words.length));
  return list.map((command) => `  panto ${command.words.padEnd(width)}  ${command.description}`).join('\n');
}

function plain(text: string): string {
  return wantsColour(process.stdout, process.env) ? text : stripVTControlCharacters(text);
}

const examples = `EXAMPLES

  panto                            an interactive session
  panto "fix the failing test"     the same, with its first prompt
  panto -p "what does this do?"    one answer on stdout, all else on stderr
  git diff | panto -p "review"     a pipe is added to the prompt; -p - takes all of it from there

Exit status: 0, 1 failed, 2 bad usage, 130 and 143 after SIGINT and SIGTERM, 141 when the reader of stdout went away.`;

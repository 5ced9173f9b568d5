// Which command the arguments mean, and its run. `lua` and `--version` alone are bin/panto's.
import { closest } from '../config/suggest.js';
import { cleanLine } from '../ui/clean.js';
import { checkArguments, UsageError } from './args.js';
import { type Command, chatCommand, commands } from './commands.js';
import { groupHelp, helpText } from './help.js';
import { standardOutput } from './output.js';

/** Runs what the arguments ask for. Resolves with the exit status; throws UsageError for status 2, anything else for 1. */
export async function dispatch(args: readonly string[]): Promise<number> {
  const { command, rest } = findCommand(args);
  if (command === undefined) return print(groupHelp(args[0] ?? ''));
  const loaded = await command.load();
  const checked = checkArguments(loaded.args, rest, loaded.maxWords);
  if (checked.kind === 'help') return print(helpText(command, loaded.args));
  if (command === chatCommand) refuseMisplacedCommand(checked.words, args);
  return loaded.execute(checked.rawArgs);
}

/** The command and what follows it; no command: help for a group of commands was asked for. */
function findCommand(args: readonly string[]): { command: Command | undefined; rest: readonly string[] } {
  const [first, second] = args;
  if (first === undefined || first.startsWith('-')) return { command: chatCommand, rest: args };
  const single = commands.find((command) => command.words === first);
  if (single) return { command: single, rest: args.slice(1) };
  const group = commands.filter((command) => command.words.startsWith(`${first} `));
  if (group.length === 0) return { command: chatCommand, rest: args };
  if (second === '--help' || second === '-h') return { command: undefined, rest: [] };
  const names = group.map((command) => command.words.slice(first.length + 1));
  const at = names.indexOf(second ?? '');
  if (at !== -1) return { command: group[at], rest: args.slice(2) };
  if (second === undefined) throw new UsageError(`"${first}" needs one of: ${names.join(', ')}`);
  const near = closest(second, names);
  throw new UsageError(
    `unknown command "${cleanLine(`${first} ${second}`)}"; ${near ? `did you mean "${first} ${near}"?` : `there is: ${names.join(', ')}`}`,
  );
}

/** One bare word that is nearly a command is a typing error, not a prompt to pay for; a command behind flags is misplaced. */
function refuseMisplacedCommand(words: readonly string[], args: readonly string[]): void {
  const [word] = words;
  if (word === undefined || words.length > 1 || args.includes('--')) return;
  const names = [...new Set(commands.map((command) => command.words.split(' ')[0] ?? ''))];
  if (names.includes(word)) throw new UsageError(`the command comes first: panto ${word} …`);
  const near = closest(word, names);
  if (near !== undefined) {
    throw new UsageError(
      `unknown command "${cleanLine(word)}"; did you mean "${near}"? (as a prompt: panto -- ${cleanLine(word)})`,
    );
  }
}

function print(text: string): number {
  standardOutput().write(`${text}\n`);
  return 0;
}

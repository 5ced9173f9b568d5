// The table of commands. A command is loaded when it is called; `lua` never gets here (bin/panto starts it directly).
import { type ArgsDef, type ParsedArgs, parseArgs } from 'citty';

export interface Command {
  /** The words it is called by, such as "ext list". */
  readonly words: string;
  readonly description: string;
  load(): Promise<LoadedCommand>;
}
export interface LoadedCommand {
  readonly args: ArgsDef;
  /** How many arguments that are no flags it takes. */
  readonly maxWords: number;
  /** Runs with arguments that checkArguments has passed; resolves with the exit status. */
  execute(rawArgs: string[]): Promise<number>;
}

/** A command from the definition of its arguments, in citty's form. */
export function loadable<const T extends ArgsDef>(
  args: T,
  maxWords: number,
  run: (args: ParsedArgs<T>) => Promise<number>,
): LoadedCommand {
  return { args, maxWords, execute: (rawArgs) => run(parseArgs<T>(rawArgs, args)) };
}

export const commands: readonly Command[] = [
  {
    words: 'bootstrap',
    description: 'Set up the Lua tree now (every start does what is missing)',
    load: async () => (await import('./commands/bootstrap.js')).bootstrap,
  },
  {
    words: 'lua',
    description: 'The Lua interpreter, as lua(1), with the rocks of panto on its path',
    load: async () => {
      throw new Error('lua must be the first argument: panto lua …');
    },
  },
  {
    words: 'ext list',
    description: 'List the extensions, where they come from and whether they run',
    load: async () => (await import('./commands/ext-list.js')).extList,
  },
  {
    words: 'trust',
    description: 'Trust the project in this folder, list what is trusted, or take it back',
    load: async () => (await import('./commands/trust.js')).trust,
  },
];

/** What runs without a command: the interactive interface, or one answer with -p. */
export const chatCommand: Command = {
  words: '',
  description: 'A coding agent for the terminal whose extensions are Lua',
  load: async () => (await import('./commands/chat.js')).chat,
};

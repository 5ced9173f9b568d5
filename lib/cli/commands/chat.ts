// `panto` itself: an interactive session, or with -p one answer.
import { isatty } from 'node:tty';
import { UsageError } from '../args.js';
import { loadable } from '../commands.js';
import { standardOutput } from '../output.js';

export const chat = loadable(
  {
    prompt: { type: 'positional', required: false, description: 'First prompt of the interactive session' },
    print: {
      type: 'string',
      alias: 'p',
      valueHint: 'PROMPT',
      description: 'Answer this one prompt on stdout and end; - reads it from stdin',
    },
    model: {
      type: 'string',
      alias: 'm',
      valueHint: 'PROVIDER/NAME|scripted:FILE',
      description: 'The model (config: [agent] model)',
    },
    output: {
      type: 'enum',
      options: ['text', 'jsonl'],
      description: 'With -p: the answer (default), or every event as a line of JSON',
    },
    permission: {
      type: 'enum',
      options: ['ask', 'auto', 'read-only'],
      description: 'Tools that change something: ask (-p refuses), allow, refuse (config: [permissions] mode)',
    },
    trust: { type: 'boolean', description: 'Trust this project: load its .panto/ and remember that' },
    debug: { type: 'boolean', description: 'Show tracebacks' },
    version: { type: 'boolean', alias: 'v', description: 'Show the version' },
  },
  Number.POSITIVE_INFINITY,
  async (args) => {
    if (args.version) {
      standardOutput().write(`${PANTO_VERSION}\n`);
      return 0;
    }
    const words = args._.join(' ');
    const options = {
      model: args.model,
      permission: args.permission as 'ask' | 'auto' | 'read-only' | undefined,
      trust: args.trust === true,
      debug: args.debug === true,
    };
    if (args.print !== undefined) {
      if (words !== '') throw new UsageError(`with -p the prompt is one argument; unexpected "${args._[0]}"`);
      const { runPrint } = await import('../print.js');
      return runPrint({ ...options, prompt: args.print, jsonl: args.output === 'jsonl' });
    }
    if (args.output !== undefined) throw new UsageError('--output needs -p PROMPT');
    if (!isatty(0) || !isatty(1)) {
      const which = isatty(0) ? 'output' : 'input';
      throw new UsageError(
        `standard ${which} is not a terminal: use -p PROMPT, or -p - to read the prompt from a pipe`,
      );
    }
    const { runInteractive } = await import('../interactive.js');
    return runInteractive({ ...options, ...(words.trim() === '' ? {} : { prompt: words }) });
  },
);

// `panto -p`: one prompt to its end. The answer goes to stdout, everything else to stderr.
import type { AgentEvent } from '../core/types.js';
import { createCleaner } from '../ui/clean.js';
import { createStyle, wantsColour } from '../ui/style.js';
import { Transcript } from '../ui/transcript.js';
import { onLeave } from './exit.js';
import { toJsonLine } from './json-lines.js';
import { extensionLog } from './lua-runtime.js';
import type { Notice } from './notice.js';
import { keepOutput, readerReady, standardError, standardOutput } from './output.js';
import { openSession, type SessionArguments } from './session.js';
import { readPrompt } from './stdin.js';

export interface PrintOptions extends SessionArguments {
  readonly prompt: string;
  readonly jsonl: boolean;
}

/** Resolves with the exit status: 0 when the agent came to its end, else 1. */
export async function runPrint(options: PrintOptions): Promise<number> {
  keepOutput(extensionLog(process.env), { both: false });
  const stderr = stderrSink();
  const style = createStyle(wantsColour(process.stderr, process.env));
  const transcript = new Transcript({ sink: stderr, style, text: false });
  const out = standardOutput();
  const writeLine = (value: unknown) => out.write(`${JSON.stringify(value)}\n`);
  const notify = ({ level, message, traceback }: Notice) => {
    transcript.line(`panto: ${level === 'info' ? '' : `${level}: `}${message}`);
    if (options.debug && traceback !== undefined) transcript.line(traceback);
    if (options.jsonl) writeLine({ type: 'notice', level, message });
  };

  const prompt = await readPrompt(options.prompt, (message) => notify({ level: 'info', message }));
  const stopping = new AbortController();
  let ended: Promise<unknown> = Promise.resolve();
  onLeave(async () => {
    stopping.abort();
    await ended;
  });
  const run = async (): Promise<number> => {
    const session = await openSession({
      ...options,
      cwd: process.cwd(),
      env: process.env,
      notify,
      signal: stopping.signal,
      beforeRequest: () => readerReady(out),
    });
    try {
      const answer = new Answer((text) => out.write(text));
      let status = 1;
      if (options.jsonl) {
        const { model, startedAt } = session;
        const started_at = new Date(startedAt).toISOString();
        writeLine({ type: 'session_start', version: PANTO_VERSION, model, cwd: process.cwd(), started_at });
      }
      session.agent.on((event) => {
        if (options.jsonl) writeLine(toJsonLine(event, session.startedAt));
        else {
          const aside = answer.onEvent(event);
          if (aside !== '') transcript.line(style.dim(aside));
        }
        transcript.onEvent(event);
        if (event.type === 'agent_end') status = event.reason === 'done' ? 0 : 1;
      });
      await session.agent.run(prompt, { signal: stopping.signal });
      return status;
    } finally {
      await session.dispose();
    }
  };
  const running = run();
  ended = running.catch(() => {});
  return running;
}

/**
 * The answer is the text of the last assistant message; which one is the last is known only when no tool call follows. What
 * was said on the way is given back, for stderr.
 */
class Answer {
  readonly #write: (text: string) => void;
  readonly #cleaner = createCleaner();
  #text = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  onEvent(event: AgentEvent): string {
    let aside = '';
    if (event.type === 'turn_start') {
      aside = this.#take();
    } else if (event.type === 'delta' && event.event.type === 'text') {
      this.#text += this.#cleaner.push(event.event.delta);
    } else if (event.type === 'tool_call') {
      aside = this.#take();
    } else if (event.type === 'agent_end') {
      const text = this.#take();
      if (text !== '') this.#write(`${text}\n`);
    }
    return aside;
  }

  #take(): string {
    const text = (this.#text + this.#cleaner.end()).trimEnd();
    this.#text = '';
    return text;
  }
}

function stderrSink() {
  let atLineStart = true;
  return {
    get atLineStart() {
      return atLineStart;
    },
    write(text: string) {
      if (text === '') return;
      standardError().write(text);
      atLineStart = text.endsWith('\n');
    },
  };
}

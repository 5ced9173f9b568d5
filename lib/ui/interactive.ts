// The plain interactive loop: a line is a prompt, a command, or a word to the agent while it works.
import type { AgentEvent, CallContent } from '../core/types.js';
import { cleanLine, cleanText } from './clean.js';
import type { Style } from './style.js';
import { Terminal } from './terminal.js';
import { Transcript } from './transcript.js';

export interface UiCommand {
  readonly name: string;
  readonly description: string;
  readonly extension: string;
}

/** What the loop needs of the rest: an agent, and the commands that extensions registered. */
export interface InteractiveHost {
  readonly agent: {
    run(prompt: CallContent, options: { signal: AbortSignal }): Promise<unknown>;
    enqueue(text: CallContent): void;
    on(listener: (event: AgentEvent) => void): () => void;
  };
  commands(): readonly UiCommand[];
  /** The text to show, if there is one. Rejects with one line. */
  runCommand(name: string, args: string, signal: AbortSignal): Promise<string | undefined>;
}

/** What Ctrl-C cancels. */
interface Activity {
  readonly kind: 'turn' | 'command';
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

const builtins = [
  { name: 'help', description: 'this list' },
  { name: 'quit', description: 'leave (also Ctrl-D)' },
];

/** The loop, from the start of the process to its exit status. What the start has to say or ask goes through it, too. */
export class InteractiveLoop {
  readonly #style: Style;
  readonly #terminal: Terminal;
  readonly #transcript: Transcript;
  #host: InteractiveHost | undefined;
  #activity: Activity | undefined;
  /** Lines that were sent before there was an agent. */
  readonly #early: string[] = [];
  /** Prompts that were sent while a command of an extension ran. */
  readonly #waiting: string[] = [];
  #quitAsked = false;
  #left = false;
  #quit: (status: number) => void = () => {};
  readonly #status = new Promise<number>((resolve) => {
    this.#quit = resolve;
  });

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, style: Style, dumb: boolean) {
    this.#style = style;
    const handlers = {
      line: (text: string) => this.#line(text),
      interrupt: () => this.#interrupt(),
      end: () => this.#leave(0),
    };
    this.#terminal = new Terminal(input, output, handlers, dumb);
    this.#transcript = new Transcript({ style, sink: this.#terminal });
  }

  /** One line for the person, at any time. The caller has cleaned it. */
  notice(text: string): void {
    this.#transcript.line(text);
  }

  /** Asks the person; see Terminal.ask. */
  ask(text: string, prompt: string, signal?: AbortSignal): Promise<string | undefined> {
    return this.#terminal.ask(text, prompt, signal);
  }

  /** Resolves with the exit status when the person has left: 0, or 130 after Ctrl-C. */
  get left(): Promise<number> {
    return this.#status;
  }

  /** Takes prompts until the person leaves; then resolves when what ran has been cancelled and has ended. */
  async run(host: InteractiveHost, first?: string): Promise<void> {
    this.#host = host;
    const off = host.agent.on((event) => this.#transcript.onEvent(event));
    if (first === undefined) {
      this.#terminal.setIdle(true);
    } else {
      this.notice(this.#style.bold(`> ${cleanText(first)}`));
      this.#prompt(host, first);
    }
    for (const text of this.#early.splice(0)) this.#line(text);
    await this.#status;
    this.#activity?.controller.abort();
    await this.#activity?.ended;
    off();
  }

  /** Gives the terminal back. */
  close(): void {
    this.#terminal.close();
  }

  #line(text: string): void {
    this.#quitAsked = false;
    if (text.trim() === '') return;
    // A text that begins with a path is no command; a leading space makes a text of anything.
    const [, name, args = ''] = /^\/([A-Za-z][\w.-]*)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
    if (name === 'quit' || name === 'exit') this.#leave(0);
    else if (!this.#host) this.#early.push(text);
    else if (name !== undefined) this.#command(this.#host, name, args);
    else this.#say(this.#host, text.trim());
  }

  #say(host: InteractiveHost, text: string): void {
    if (this.#activity?.kind === 'turn') host.agent.enqueue(text);
    else if (this.#activity) this.#waiting.push(text);
    else this.#prompt(host, text);
  }

  #command(host: InteractiveHost, name: string, args: string): void {
    const commands = host.commands();
    if (name === 'help') this.#help(commands);
    else if (commands.some((command) => command.name === name)) this.#extensionCommand(host, name, args);
    else this.notice(this.#style.red(`no command /${cleanLine(name)}; /help lists them`));
  }

  #help(commands: readonly UiCommand[]): void {
    const described = commands.map(({ name, description, extension }) => ({
      name,
      description: `${description} (${extension})`,
    }));
    const rows = [...builtins, ...described];
    const width = Math.max(...rows.map((row) => row.name.length));
    for (const row of rows) this.notice(`/${cleanLine(row.name).padEnd(width)}  ${cleanLine(row.description)}`);
    this.notice('Anything else is a prompt; while a turn runs it is told to the agent before its next step.');
    this.notice('Ctrl-C cancels what runs.');
  }

  #prompt(host: InteractiveHost, text: string): void {
    this.#start('turn', (signal) => host.agent.run(text, { signal }));
  }

  #extensionCommand(host: InteractiveHost, name: string, args: string): void {
    const run = async (signal: AbortSignal) => {
      const text = await host.runCommand(name, args, signal);
      if (text !== undefined && text !== '') this.notice(cleanText(text).trimEnd());
    };
    if (this.#activity) run(this.#activity.controller.signal).catch((error: unknown) => this.#failed(error));
    else this.#start('command', run);
  }

  /** Runs something that Ctrl-C cancels; the prompt comes back when it has ended. */
  #start(kind: Activity['kind'], work: (signal: AbortSignal) => Promise<unknown>): void {
    const controller = new AbortController();
    this.#terminal.setIdle(false);
    const ended = work(controller.signal)
      .catch((error: unknown) => {
        if (!controller.signal.aborted) this.#failed(error);
      })
      .then(() => this.#ended());
    this.#activity = { kind, controller, ended };
  }

  #ended(): void {
    this.#activity = undefined;
    const next = this.#waiting.shift();
    if (this.#left) return;
    if (next !== undefined && this.#host) this.#prompt(this.#host, next);
    else this.#terminal.setIdle(true);
  }

  #failed(error: unknown): void {
    this.notice(this.#style.red(`error: ${cleanLine(error instanceof Error ? error.message : String(error))}`));
  }

  #interrupt(): void {
    if (this.#activity && !this.#activity.controller.signal.aborted) {
      this.#activity.controller.abort();
    } else if (this.#activity || this.#quitAsked) {
      this.#leave(130);
    } else {
      this.#quitAsked = true;
      this.notice(this.#style.dim('Ctrl-C again or Ctrl-D leaves'));
    }
  }

  #leave(status: number): void {
    this.#left = true;
    this.#terminal.setIdle(false);
    this.#quit(status);
  }
}

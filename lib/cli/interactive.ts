// `panto` at a terminal: the interactive loop over a session.
import type { Json, ToolCall } from '../core/types.js';
import type { Answer } from '../extensions/permission.js';
import type { TrustReport } from '../extensions/trust.js';
import { cleanLine, cleanText } from '../ui/clean.js';
import { InteractiveLoop } from '../ui/interactive.js';
import { createStyle, wantsColour } from '../ui/style.js';
import { describeInput } from '../ui/tool-line.js';
import { onLeave } from './exit.js';
import { extensionLog } from './lua-runtime.js';
import type { Notice } from './notice.js';
import { keepOutput, terminalOutput } from './output.js';
import { openSession, type Session, type SessionArguments } from './session.js';

export interface InteractiveOptions extends SessionArguments {
  /** The first prompt. */
  readonly prompt?: string;
}

/** Resolves with the exit status when the person has left. */
export async function runInteractive(options: InteractiveOptions): Promise<number> {
  keepOutput(extensionLog(process.env), { both: true });
  const output = terminalOutput();
  const style = createStyle(wantsColour(output, process.env));
  const loop = new InteractiveLoop(process.stdin, output, style, process.env.TERM === 'dumb');
  const paint = { info: style.dim, warning: style.yellow, error: style.red };
  const notify = ({ level, message, traceback }: Notice) => {
    loop.notice(paint[level](cleanLine(message)));
    if (options.debug && traceback !== undefined) loop.notice(style.dim(cleanText(traceback)));
  };

  const leaving = new AbortController();
  let opened: Promise<Session> | undefined;
  let running: Promise<void> | undefined;
  onLeave(async () => {
    loop.close();
    leaving.abort();
    await running;
    const session = await opened?.catch(() => undefined);
    await session?.dispose();
  });
  opened = openSession({
    ...options,
    cwd: process.cwd(),
    env: process.env,
    notify,
    person: {
      trusts: (report) => askTrust(loop, report),
      permits: (call) => askPermission(loop, call),
    },
    slowStartInBackground: true,
    signal: leaving.signal,
  });
  const start = await Promise.race([opened, loop.left]);
  if (typeof start === 'number') return start;
  loop.notice(style.dim(`panto ${PANTO_VERSION}, ${cleanLine(start.model)}; /help for help`));
  running = loop.run(start, options.prompt);
  return loop.left;
}

async function askTrust(loop: InteractiveLoop, report: TrustReport): Promise<boolean> {
  const text = [
    report.state === 'changed'
      ? `The .panto/ of ${cleanLine(report.root)} has changed since you trusted it:`
      : `${cleanLine(report.root)} brings extensions or settings of its own:`,
    ...report.contents.map((line) => `  ${cleanLine(line)}`),
    'They can run code and send your data anywhere. Trust them if you know where they come from.',
  ];
  return isYes(await loop.ask(text.join('\n'), 'Trust this project? [y/N] '));
}

async function askPermission(loop: InteractiveLoop, call: ToolCall): Promise<Answer> {
  const name = cleanLine(call.toolName);
  const text = `${name} wants to run:\n${describeInput(JSON.parse(call.input) as Json)}`;
  const answer = await loop.ask(text, `Allow? [y]es, [N]o, [a]lways ${name}: `, call.signal);
  if (/^a(lways)?$/i.test(answer ?? '')) return 'always';
  return isYes(answer) ? 'yes' : 'no';
}

function isYes(answer: string | undefined): boolean {
  return /^y(es)?$/i.test(answer ?? '');
}

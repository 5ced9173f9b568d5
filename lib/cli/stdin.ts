// The prompt of `-p`: what was given, and what a pipe or a file on stdin adds.
import { isatty } from 'node:tty';
import { UsageError } from './args.js';

/** No context window takes more. */
const maxBytes = 10 * 1024 * 1024;
/** After this a person is told what the process waits for. */
const noticeAfterMs = 3000;

/**
 * `-` takes the whole prompt from stdin; otherwise stdin is added below the prompt where it is no terminal.
 * @throws UsageError where nothing is left to ask
 */
export async function readPrompt(given: string, notice: (message: string) => void): Promise<string> {
  if (given !== '-' && isatty(0)) return required(given);
  const piped = await readStdin(notice);
  if (given === '-') return required(piped);
  return required([given, piped].filter((part) => part.trim() !== '').join('\n\n'));
}

function required(prompt: string): string {
  if (prompt.trim() === '') throw new UsageError('the prompt is empty: give one to -p, or pipe it into panto -p -');
  return prompt;
}

async function readStdin(notice: (message: string) => void): Promise<string> {
  const timer = setTimeout(() => notice('waiting for standard input to end (</dev/null gives none)'), noticeAfterMs);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of process.stdin) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes)
        throw new Error('standard input is longer than 10 MiB; put it into a file and name that in the prompt');
    }
  } catch (error) {
    // A closed stdin (`<&-`) and a folder on it have nothing to add.
    if (!['EBADF', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    clearTimeout(timer);
  }
  const bytes = Buffer.concat(chunks);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('standard input is not UTF-8 text; save it as a file and name that in the prompt');
  }
}

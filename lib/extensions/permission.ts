// The permission policy as a gate before each tool call. It protects from the model; an extension is trusted code, so its word that a
// tool is read-only is believed. Whatever fails here refuses the call.
import type { Gates, ToolCall } from '../core/types.js';

export type PermissionMode = 'ask' | 'auto' | 'read-only';
/** `always`: yes, and for all later calls of the same tool too, as long as this gate lives. */
export type Answer = 'yes' | 'no' | 'always';

export interface PermissionOptions {
  readonly mode: PermissionMode;
  /** Whether the tool changes nothing outside the process. */
  isReadOnly(toolName: string): boolean;
  /** Asks the person; absent where nobody can be asked. Should give up when the call's signal is aborted. */
  ask?(call: ToolCall): Promise<Answer>;
}

/** A gate for `Gates.call`. Questions of calls that run at once are put one after another, in call order. */
export function permissionGate(options: PermissionOptions): NonNullable<Gates['call']> {
  const { mode, ask } = options;
  const always = new Set<string>();
  let lastQuestion: Promise<unknown> = Promise.resolve();

  const question = async (call: ToolCall): Promise<Verdict> => {
    if (call.signal.aborted) return refuse('the call was cancelled before it was permitted');
    // The answer to an earlier question may be the answer to this one.
    if (always.has(call.toolName)) return {};
    const answer = await ask!(call);
    if (answer === 'always') always.add(call.toolName);
    return answer === 'yes' || answer === 'always' ? {} : refuse(`the person refused this call of ${call.toolName}`);
  };

  return async (call) => {
    try {
      if (mode === 'auto' || options.isReadOnly(call.toolName) || always.has(call.toolName)) return {};
      if (mode === 'read-only') {
        return refuse(
          `${call.toolName} may change things and the permission mode is read-only (--permission ask or auto)`,
        );
      }
      if (ask === undefined) {
        return refuse(
          `${call.toolName} may change things and nobody can be asked here: run panto with --permission auto to allow it`,
        );
      }
      const verdict = lastQuestion.then(() => question(call));
      // The next question waits until this one has left the screen, even if its call is cancelled meanwhile.
      lastQuestion = verdict.catch(() => undefined);
      return await Promise.race([verdict, cancelled(call.signal)]);
    } catch (error) {
      return refuse(
        `${call.toolName} could not be permitted: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  };
}

type Verdict = { input?: string } | { refuse: string };

function refuse(reason: string): Verdict {
  return { refuse: reason };
}

/** Resolves when the call is cancelled; a call that is never cancelled leaves no more behind than its signal does. */
function cancelled(signal: AbortSignal): Promise<Verdict> {
  return new Promise((resolve) => {
    const settle = (): void => resolve(refuse('the call was cancelled before it was permitted'));
    if (signal.aborted) settle();
    else signal.addEventListener('abort', settle, { once: true });
  });
}

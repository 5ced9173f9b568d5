// What the pool and its workers say to each other. A worker runs one call at a time.
import type { CallContent, CallResult } from './types.js';

export interface RunRequest {
  readonly type: 'run';
  readonly id: string;
  readonly tool: string;
  /** URL of the tool's module. */
  readonly module: string;
  /** JSON text. */
  readonly input: string;
  readonly cwd: string;
}

export type ToWorker = RunRequest | { readonly type: 'abort'; readonly kind: 'cancelled' | 'timeout'; message: string };

export type FromWorker =
  /** Of the tool that ran last: what it left behind may write, too. */
  | { readonly type: 'output'; readonly tool: string; readonly text: string }
  | { readonly type: 'update'; readonly id: string; readonly partial: CallContent }
  | { readonly type: 'done'; readonly id: string; readonly result: CallResult };

// The public surface of libpanto, the library below the command.
export { CallAbort } from './core/abort.js';
export { Agent } from './core/agent.js';
export { ToolRegistry } from './core/registry.js';
export type * from './core/types.js';

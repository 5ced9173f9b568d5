// The native tools that ship. Importing this loads their declarations only; what a tool needs is loaded on its worker.
import type { Tool } from '../core/types.js';
import { bashTool } from './bash.js';
import { editTool } from './edit.js';
import { findTool } from './find.js';
import { grepTool } from './grep.js';
import { lsTool } from './ls.js';
import { readTool } from './read.js';
import { writeTool } from './write.js';

export const nativeTools: readonly Tool[] = [readTool, writeTool, editTool, bashTool, grepTool, findTool, lsTool];
export { hideFromCommands } from './shell/environment.js';

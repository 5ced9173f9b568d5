// The tool `write`: makes a text the whole content of a file.
//
// It writes what it is given: no line end, byte order mark or final newline is added or changed. Links are followed, also out
// of the project, since the permission question has shown the path; the link stays and its target is written, a dangling
// link's target is created. Atomic where the file system allows it (files/replace-file.ts).
import { distUrl } from '../core/package-root.js';
import type { NativeRun, Tool } from '../core/types.js';
import { printableName, resolvePath } from './files/paths.js';
import { replaceFile } from './files/replace-file.js';
import { formatBytes, plural, splitLines } from './text/truncate.js';
import { checkStopped } from './types.js';

export const writeTool: Tool = {
  name: 'write',
  description:
    'Write a text file: creates it, with its folders, or replaces its whole content. The content is written exactly as given. ' +
    'To change a part of an existing file use edit.',
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description: 'File to write: relative to the working folder, absolute, or ~/…',
      },
      content: { type: 'string', description: 'The whole new content' },
    },
    required: ['path', 'content'],
    additionalProperties: false,
  },
  locks: ['/path'],
  module: distUrl('tools/write'),
};

export const run: NativeRun = async (input, call) => {
  const { path, content } = input as { path: string; content: string };
  const absolute = resolvePath(path, call.cwd);
  const data = Buffer.from(content);
  checkStopped(call.signal);
  const { target, created } = await replaceFile(absolute, data, path);
  const size = `${plural(splitLines(content).length, 'line')}, ${formatBytes(data.length)}`;
  return {
    content: `${created ? 'Created' : 'Replaced the content of'} ${printableName(path)} (${size})`,
    details: { path: target, created, bytes: data.length },
  };
};

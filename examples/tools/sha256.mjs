// A native tool: it runs on a worker thread of its own, for work that would keep Lua from doing anything else. The file exports
// `tool`, what the model reads, and `run`, which is called with the input once it fits the schema.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';

export const tool = {
  name: 'sha256',
  description: 'SHA-256 of a file, in hexadecimal',
  readOnly: true,
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string', minLength: 1, description: 'Relative to the working folder, or absolute' } },
    required: ['path'],
    additionalProperties: false,
  },
};

/** An error that is thrown becomes the result of the call. `signal` is aborted when the call is cancelled or out of time. */
export async function run({ path }, { cwd, signal }) {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(resolve(cwd, path), { signal })) hash.update(chunk);
  return hash.digest('hex');
}

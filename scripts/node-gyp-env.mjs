// The environment for node-gyp: the headers of the Node that runs, where they lie beside it, so that nothing is downloaded.
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A folder that the caller named wins; without either, node-gyp takes npm's `nodedir`, or downloads the headers. */
export function nodeGypEnv(env = process.env) {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const isThere = existsSync(join(prefix, 'include/node/node_api.h'));
  return env.npm_config_nodedir || !isThere ? env : { ...env, npm_config_nodedir: prefix };
}

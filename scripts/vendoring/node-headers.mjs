// libuv's headers as they lie in a Node installation: include/node beside the node executable, or below npm's nodedir.
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * The uv headers of the Node major `major`.
 * @returns {{folder: string, bytes: Buffer}} the folder with uv.h and uv/, and what its pin is the hash of: uv.h followed by
 *   uv/*.h in bytewise order of their names
 * @throws where no installation has them, with the reason
 */
export function findNodeHeaders(major) {
  const reasons = [];
  for (const prefix of new Set([dirname(dirname(realpathSync(process.execPath))), ...nodedirs()])) {
    const folder = join(prefix, 'include/node');
    try {
      const found = majorOf(folder);
      if (found === major) return { folder, bytes: headerBytes(folder) };
      reasons.push(`${folder} belongs to Node ${found}`);
    } catch (error) {
      reasons.push(error.message);
    }
  }
  throw new Error(reasons.join('; '));
}

/** Where npm was told to find Node's headers: its environment variable, then the user's .npmrc. */
function nodedirs() {
  const configured = [process.env.npm_config_nodedir];
  try {
    configured.push(/^\s*nodedir\s*=\s*(.+?)\s*$/m.exec(readFileSync(join(homedir(), '.npmrc'), 'utf8'))?.[1]);
  } catch {
    // No .npmrc.
  }
  return configured.filter(Boolean);
}

function majorOf(folder) {
  const text = readFileSync(join(folder, 'node_version.h'), 'utf8');
  return Number(/#define NODE_MAJOR_VERSION (\d+)/.exec(text)?.[1]);
}

function headerBytes(folder) {
  const names = readdirSync(join(folder, 'uv')).filter((name) => name.endsWith('.h'));
  const files = ['uv.h', ...names.sort().map((name) => `uv/${name}`)];
  return Buffer.concat(files.map((name) => readFileSync(join(folder, name))));
}

// Why the native addon does not load, as one line with what to do about it.

export interface LoadPlace {
  /** The folder of panto. */
  readonly packageRoot: string;
  /** The executable of Node. */
  readonly node: string;
  readonly nodeVersion: string;
}

/** `cause`: the message of what the loader threw. */
export function describeLoadFailure(cause: string, place: LoadPlace): string {
  const { packageRoot, node, nodeVersion } = place;
  const [firstLine = ''] = cause.split('\n', 1);
  const build = `build it with a C++ compiler, make and Python: cd ${packageRoot} && npx node-gyp rebuild`;
  const target = /^No native build was found for (.*)$/.exec(firstLine)?.[1];
  if (target !== undefined) {
    const fields = new Map(target.split(' ').map((field) => field.split('=', 2) as [string, string]));
    const platform = ['platform', 'arch', 'libc'].map((name) => fields.get(name)).join('-');
    return `panto has no prebuilt addon for ${platform}; ${build}`;
  }
  // A Node built against a libuv of its own keeps it to itself, or has an older one.
  const symbol = /undefined symbol: (uv_\w+)/.exec(firstLine)?.[1];
  if (symbol !== undefined) {
    return `panto's addon needs the libuv inside Node, and ${node} (${nodeVersion}) does not offer ${symbol}; use an official build of Node 20.17 or newer`;
  }
  return `panto's addon does not load in Node ${nodeVersion}: ${firstLine}; ${build}`;
}

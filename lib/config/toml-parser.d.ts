// The grammar half of the package `toml` (pinned exactly): its tree keeps offsets, which `toml.parse` drops.
declare module 'toml/lib/parser.js' {
  import type { TomlNode } from './toml.js';

  const grammar: { parse(text: string): TomlNode[] };
  export default grammar;
}

// The configuration of a start: shipped defaults < the user's config.toml < the trusted project's. All or nothing: a file that cannot
// be read, or a single wrong value in it, gives errors and no config, so that no setting ever becomes weaker by accident.
import { join } from 'node:path';
import type { Json } from '../core/types.js';
import { checkConfig } from './check.js';
import { mergeLayers } from './merge.js';
import { displayPath, type PantoPaths, printable } from './paths.js';
import { configSchema } from './schema.js';
import { type ConfigError, readToml, type TomlFile } from './toml.js';

export type { ConfigError } from './toml.js';

/** Where a setting or an extension comes from, weakest first. */
export const LAYERS = ['base', 'user', 'project'] as const;
export type Layer = (typeof LAYERS)[number];

/** Where in the config a value was written. */
export interface Written {
  readonly layer: Layer;
  /** Absolute path of the config file. */
  readonly file: string;
  readonly line: number;
}
/** One allow or deny pattern. Rules of all layers are kept; lib/extensions/policy.ts decides among them. */
export interface PolicyRule extends Written {
  readonly pattern: string;
  readonly effect: 'allow' | 'deny';
}
export interface RockEntry extends Written {
  /** A luarocks dependency string. */
  readonly spec: string;
}
export interface ExtensionPath extends Written {
  /** As it stands in the config. */
  readonly written: string;
  /** Absolute. */
  readonly path: string;
}
export interface ProviderConfig {
  readonly api?: 'anthropic' | 'openai' | 'openai-compatible' | 'google';
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
}

/** Durations are milliseconds (0 = no limit, where the schema allows it), sizes are bytes. */
export interface Config {
  readonly agent: {
    readonly model?: string;
    readonly parallelTools: boolean;
    readonly workers: number;
    readonly toolTimeoutMs: number;
    /** Of all layers together: no layer can switch on what another has switched off. */
    readonly disabledTools: readonly string[];
    readonly maxTurns: number;
  };
  readonly lua: {
    readonly callTimeoutMs: number;
    readonly holdLimitMs: number;
    readonly activateTimeoutMs: number;
    readonly handlerTimeoutMs: number;
    readonly memoryLimitBytes: number;
  };
  readonly extensions: {
    /** Of all layers, weakest layer first, in the order of the file (allow before deny). */
    readonly rules: readonly PolicyRule[];
    readonly rocks: readonly RockEntry[];
    readonly paths: readonly ExtensionPath[];
    /** By the extension's name; tables of several layers are merged, everything else of a higher layer replaces. */
    readonly settings: Readonly<Record<string, { [key: string]: Json }>>;
  };
  readonly permissions: { readonly mode: 'ask' | 'auto' | 'read-only' };
  readonly rocks: {
    readonly servers: readonly string[];
    readonly offline: boolean;
    readonly timeoutMs: number;
    readonly allowGit: boolean;
    readonly allowCommandBuild: boolean;
  };
  readonly providers: Readonly<Record<string, ProviderConfig>>;
}

export interface ConfigInput {
  readonly paths: Pick<PantoPaths, 'configDir'>;
  readonly projectRoot: string;
  /** Whether the person trusts the project; the project's file is not even opened otherwise. */
  readonly trusted: boolean;
  /** What `~` in `extensions.paths` stands for; `userHome(env)`. */
  readonly home?: string | undefined;
}
export type ConfigResult = { readonly config: Config } | { readonly errors: readonly ConfigError[] };

/** A file that has been read and checked. */
export interface CheckedLayer {
  readonly layer: Layer;
  readonly toml: TomlFile;
  /** What relative paths in it start from. */
  readonly base: string;
}

/** Path of the user's or a project's config file. */
export function configFile(of: { configDir: string } | { projectRoot: string }): string {
  return 'configDir' in of ? join(of.configDir, 'config.toml') : join(of.projectRoot, '.panto', 'config.toml');
}

/** Reads, checks and merges the layers. Never rejects; the errors are those of all files, in order. */
export async function loadConfig(input: ConfigInput): Promise<ConfigResult> {
  const sources = [
    { layer: 'user' as const, file: configFile(input.paths), base: input.paths.configDir },
    { layer: 'project' as const, file: configFile(input), base: input.projectRoot },
  ];
  const layers: CheckedLayer[] = [];
  const errors: ConfigError[] = [];
  for (const { layer, file, base } of sources) {
    if (layer === 'project' && !input.trusted) continue;
    const read = await readToml(file);
    if (read.kind === 'error') errors.push(read.error);
    if (read.kind !== 'file') continue;
    const issues = checkConfig(configSchema, read.values);
    for (const issue of issues) errors.push({ file, ...read.place(issue.path, issue.at), message: issue.message });
    if (issues.length === 0) layers.push({ layer, toml: read, base });
  }
  const merged = mergeLayers(layers, input.home);
  errors.push(...merged.errors);
  return errors.length > 0 ? { errors } : { config: merged.config };
}

/** One line, `file:line:column: message`, with the file relative to the project or to `~`. */
export function formatConfigError(error: ConfigError, root?: string, home?: string): string {
  const place = error.line > 0 ? `:${error.line}:${error.column}` : '';
  return `${displayPath(error.file, root, home)}${place}: ${printable(error.message)}`;
}

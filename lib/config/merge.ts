// Turns checked layers into one Config. The values have passed the schema: what is read here has the type that it says.
import type { Json } from '../core/types.js';
import type { KeyPath } from './check.js';
import type {
  CheckedLayer,
  Config,
  ConfigError,
  ExtensionPath,
  PolicyRule,
  ProviderConfig,
  RockEntry,
  Written,
} from './config.js';
import { resolveWrittenPath } from './paths.js';
import { configSchema } from './schema.js';
import { parseDuration, parseSize } from './units.js';

type Table = Readonly<Record<string, unknown>>;

/** @param layers weakest first. @param home what `~` stands for. The only errors left are paths that cannot be resolved. */
export function mergeLayers(
  layers: readonly CheckedLayer[],
  home: string | undefined,
): { config: Config; errors: ConfigError[] } {
  const errors: ConfigError[] = [];

  /** The value of the highest layer that has the key, else the default of the schema. */
  const pick = <T>(section: string, key: string): T => {
    const written = layers.map(({ toml }) => table(toml.values[section])[key]).filter((value) => value !== undefined);
    return (written.at(-1) ?? defaultOf(section, key)) as T;
  };
  const duration = (section: string, key: string): number => parseDuration(pick(section, key)) as number;

  /** Each item of a list of strings in every layer, with its place. */
  const items = (
    section: string,
    key: string,
  ): { text: string; layer: CheckedLayer; path: KeyPath; written: Written }[] =>
    layers.flatMap((layer) => {
      const list = (table(layer.toml.values[section])[key] ?? []) as readonly string[];
      return list.map((text, index) => {
        const path = [section, key, index];
        const { line } = layer.toml.place(path, 'value');
        return { text, layer, path, written: { layer: layer.layer, file: layer.toml.file, line } };
      });
    });

  const rules = (effect: PolicyRule['effect']): PolicyRule[] =>
    items('extensions', effect).map(({ text, written }) => ({ pattern: text, effect, ...written }));
  const rocks = items('extensions', 'rocks').map(({ text, written }): RockEntry => ({ spec: text, ...written }));
  const paths = items('extensions', 'paths').flatMap(({ text, layer, path, written }): ExtensionPath[] => {
    try {
      return [{ written: text, path: resolveWrittenPath(text, layer.base, home), ...written }];
    } catch (error) {
      const { file } = layer.toml;
      errors.push({
        file,
        ...layer.toml.place(path, 'value'),
        message: `extensions.paths: ${(error as Error).message}`,
      });
      return [];
    }
  });
  const model = pick<string | undefined>('agent', 'model');

  const config: Config = {
    agent: {
      ...(model === undefined ? {} : { model }),
      parallelTools: pick('agent', 'parallel_tools'),
      workers: pick('agent', 'workers'),
      toolTimeoutMs: duration('agent', 'tool_timeout'),
      disabledTools: [...new Set(items('agent', 'disabled_tools').map(({ text }) => text))],
      maxTurns: pick('agent', 'max_turns'),
    },
    lua: {
      callTimeoutMs: duration('lua', 'call_timeout'),
      holdLimitMs: duration('lua', 'hold_limit'),
      activateTimeoutMs: duration('lua', 'activate_timeout'),
      handlerTimeoutMs: duration('lua', 'handler_timeout'),
      memoryLimitBytes: parseSize(pick('lua', 'memory_limit')) as number,
    },
    extensions: {
      rules: [...rules('allow'), ...rules('deny')].sort((a, b) => layerRank(layers, a) - layerRank(layers, b)),
      rocks,
      paths,
      settings: mergeSettings(layers),
    },
    permissions: { mode: pick('permissions', 'mode') },
    rocks: {
      servers: pick('rocks', 'servers'),
      offline: pick('rocks', 'offline'),
      timeoutMs: duration('rocks', 'timeout'),
      allowGit: pick('rocks', 'allow_git'),
      allowCommandBuild: pick('rocks', 'allow_command_build'),
    },
    providers: mergeProviders(layers),
  };
  return { config, errors };
}

function layerRank(layers: readonly CheckedLayer[], written: Written): number {
  return layers.findIndex(({ layer }) => layer === written.layer);
}

function table(value: unknown): Table {
  return (value ?? {}) as Table;
}

function defaultOf(section: string, key: string): Json | undefined {
  return configSchema.properties?.[section]?.properties?.[key]?.default;
}

/** Objects here have no prototype: an extension may be named `constructor`, and a key `__proto__` is only a key. */
function emptyTable<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

function mergeSettings(layers: readonly CheckedLayer[]): Record<string, { [key: string]: Json }> {
  const merged = emptyTable<{ [key: string]: Json }>();
  for (const { toml } of layers) {
    for (const [name, settings] of Object.entries(table(table(toml.values.extensions).settings))) {
      merged[name] = mergeJson(merged[name], toJson(settings)) as { [key: string]: Json };
    }
  }
  return merged;
}

/** Tables merge key by key; everything else of the higher layer replaces. */
function mergeJson(lower: Json | undefined, higher: Json): Json {
  if (!isJsonTable(lower) || !isJsonTable(higher)) return higher;
  const merged = Object.assign(emptyTable<Json>(), lower);
  for (const [key, value] of Object.entries(higher)) merged[key] = mergeJson(merged[key], value);
  return merged;
}

function isJsonTable(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** TOML's own types become what JSON can hold: a date with an offset is its ISO text. */
function toJson(value: unknown): Json {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object' || value === null) return value as Json;
  const copy = emptyTable<Json>();
  for (const [key, inner] of Object.entries(value)) copy[key] = toJson(inner);
  return copy;
}

function mergeProviders(layers: readonly CheckedLayer[]): Record<string, ProviderConfig> {
  const merged = emptyTable<ProviderConfig>();
  for (const { toml } of layers) {
    for (const [name, written] of Object.entries(table(toml.values.providers))) {
      const { api, base_url, api_key_env } = written as { api?: string; base_url?: string; api_key_env?: string };
      merged[name] = {
        ...merged[name],
        ...(api === undefined ? {} : { api: api as NonNullable<ProviderConfig['api']> }),
        ...(base_url === undefined ? {} : { baseUrl: base_url }),
        ...(api_key_env === undefined ? {} : { apiKeyEnv: api_key_env }),
      };
    }
  }
  return merged;
}

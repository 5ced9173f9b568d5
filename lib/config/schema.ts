// The one source of truth for the keys of config.toml, their types and defaults: a JSON Schema (draft 2020-12) that editors can use
// as it is. Keywords that begin with `x-` are ours: they say how a text is read and how messages speak of it.
import type { Json } from '../core/types.js';
import { GLOB_PATTERN } from './glob.js';
import { DURATION_PATTERN, SIZE_PATTERN } from './units.js';

export interface Schema {
  readonly $schema?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly default?: Json;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: false | Schema;
  /** How the text is read; "positive-…" refuses zero. */
  readonly 'x-unit'?: 'duration' | 'positive-duration' | 'positive-size' | 'glob';
  /** What a person should write, for the message when `pattern` does not match. */
  readonly 'x-expected'?: string;
  /** The value may be a secret that was written in the wrong place: messages do not repeat it. */
  readonly 'x-secret'?: boolean;
}

const duration = (description: string, value: string): Schema => ({
  description: `${description} 0s: no limit.`,
  type: 'string',
  pattern: DURATION_PATTERN,
  default: value,
  'x-unit': 'duration',
});
const positiveDuration = (description: string, value: string): Schema => ({
  description,
  type: 'string',
  pattern: `^(?=.*[1-9])${DURATION_PATTERN.slice(1)}`,
  default: value,
  'x-unit': 'positive-duration',
});
const bool = (description: string, value: boolean): Schema => ({ description, type: 'boolean', default: value });
const list = (description: string, items: Schema, value: string[] = []): Schema => ({
  description,
  type: 'array',
  items: { type: 'string', ...items },
  default: value,
});
const section = (description: string, properties: Readonly<Record<string, Schema>>): Schema => ({
  description,
  type: 'object',
  properties,
  additionalProperties: false,
});
const glob: Schema = { pattern: GLOB_PATTERN, 'x-unit': 'glob' };

export const configSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'config.toml of panto',
  ...section('The user’s config.toml, or .panto/config.toml of a project.', {
    agent: section('The loop of turns.', {
      model: {
        description: 'The model: PROVIDER/NAME, or scripted:FILE for turns from a file.',
        type: 'string',
        pattern: '^(scripted:.+|[^/:\\s]+/\\S+)$',
        'x-expected': 'PROVIDER/NAME (such as "anthropic/…") or "scripted:FILE"',
      },
      parallel_tools: bool('Run the tool calls of one turn at the same time.', true),
      workers: {
        description: 'Worker threads for native tools.',
        type: 'integer',
        minimum: 1,
        maximum: 256,
        default: 4,
      },
      tool_timeout: duration('Time limit of a call of a native tool.', '120s'),
      disabled_tools: list('Native tools that are switched off; a tool that any layer lists is off.', {
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        'x-expected': 'the name of a tool',
      }),
      max_turns: { description: 'Turns until the agent stops by itself.', type: 'integer', minimum: 1, default: 100 },
    }),
    lua: section('The Lua runtime.', {
      call_timeout: duration('Time limit of a call of a Lua tool.', '120s'),
      hold_limit: positiveDuration('How long Lua code may run without yielding.', '5s'),
      activate_timeout: positiveDuration('Time limit for loading and activating one extension.', '5s'),
      handler_timeout: positiveDuration('Time limit of an event handler.', '5s'),
      memory_limit: {
        description: 'Memory of the whole Lua runtime. MB are millions of bytes, MiB are 1024 * 1024.',
        type: 'string',
        pattern: `^(?=.*[1-9])${SIZE_PATTERN.slice(1)}`,
        default: '512MB',
        'x-unit': 'positive-size',
      },
    }),
    extensions: section('What extensions are loaded, and from where.', {
      allow: list('Patterns of names that are switched on. A feature toggle, not a security boundary.', glob),
      deny: list('Patterns of names that are switched off; denied sources are still evaluated.', glob),
      rocks: list('Rocks to install and load, as luarocks dependency strings: "NAME 1.2.3-1".', {
        pattern: '^[A-Za-z0-9_]',
        'x-expected': 'a luarocks dependency such as "NAME 1.2.3-1"',
      }),
      paths: list('More folders with extensions, or the folder of one extension.', {
        pattern: '\\S',
        'x-expected': 'the path of a folder',
      }),
      settings: {
        description: 'Settings of each extension by its name: settings."NAME" = { … }.',
        type: 'object',
        additionalProperties: { type: 'object', additionalProperties: {} },
      },
    }),
    permissions: section('What the model may do unasked.', {
      mode: {
        description: 'ask: what changes something is asked for; auto: nothing is; read-only: it is refused.',
        type: 'string',
        enum: ['ask', 'auto', 'read-only'],
        default: 'ask',
      },
    }),
    rocks: section('How rocks are fetched and built.', {
      servers: list(
        'Rocks servers, first come first served; replaces the default.',
        { pattern: '^(https?://|file://|/)', 'x-expected': 'an http, https or file URL', 'x-secret': true },
        ['https://luarocks.org'],
      ),
      offline: bool('Never open a connection.', false),
      timeout: positiveDuration('Time limit of one download without progress.', '30s'),
      allow_git: bool('Allow rocks whose sources come from git.', false),
      allow_command_build: bool('Allow rocks that run commands of their own to build.', false),
    }),
    providers: {
      description: 'Model providers by the name that `model` begins with.',
      type: 'object',
      additionalProperties: section('One provider.', {
        api: {
          description: 'The protocol it speaks.',
          type: 'string',
          enum: ['anthropic', 'openai', 'openai-compatible', 'google'],
        },
        base_url: {
          description: 'Where its API lives.',
          type: 'string',
          pattern: '^https?://\\S+$',
          'x-expected': 'an http or https URL',
          'x-secret': true,
        },
        api_key_env: {
          description: 'Name of the environment variable that holds the key.',
          type: 'string',
          pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
          'x-expected': 'the name of an environment variable, not the key itself',
          'x-secret': true,
        },
      }),
    },
  }),
};

/** Keys people write that do not exist, with what to write instead; `*` stands for any name. */
export const unknownKeyHints: Readonly<Record<string, string>> = {
  tools:
    '[tools] is not a section: tools are switched by allow and deny in [extensions], built-in ones by agent.disabled_tools',
  'providers.*.api_key':
    'a key does not belong in a config file: put it in the environment and name the variable in api_key_env',
};

import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'toml';
import { checkConfig } from './check.js';
import { globProblem } from './glob.js';
import { configSchema } from './schema.js';
import { closest } from './suggest.js';
import { parseDuration, parseSize } from './units.js';

const validate = new Ajv2020({ strict: false, allErrors: true }).compile(configSchema);
/** The messages of our own check; fails if a general validator sees it otherwise. */
function check(text: string): string[] {
  const values = parse(text) as Record<string, unknown>;
  const messages = checkConfig(configSchema, values).map(({ message }) => message);
  expect([text, validate(values)]).toEqual([text, messages.length === 0]);
  return messages;
}

const COMPLETE = `
[agent]
model = "anthropic/some-model"
parallel_tools = false
workers = 2
tool_timeout = "0s"
disabled_tools = ["bash"]
max_turns = 1
[lua]
call_timeout = "1.5m"
hold_limit = "500ms"
activate_timeout = "1s"
handler_timeout = "1h"
memory_limit = "1GiB"
[extensions]
allow = ["agent.rules", "git-*", "**"]
deny = ["agent.**", "?x.*"]
rocks = ["panto-agent 1.4.2-1", "lpeg"]
paths = ["./dev", "~/x"]
settings."agent.rules" = { any = [1, "two", { three = 3.5 }], when = 2020-01-01T00:00:00Z }
[permissions]
mode = "read-only"
[rocks]
servers = ["https://luarocks.org", "/srv/rocks"]
offline = true
timeout = "5s"
allow_git = true
allow_command_build = true
[providers.local]
api = "openai-compatible"
base_url = "http://127.0.0.1:8080/v1"
api_key_env = "LOCAL_KEY"
`;

test('a config with every key passes', () => {
  expect(check(COMPLETE)).toEqual([]);
  expect(check('')).toEqual([]);
  expect(check('agent.model = "scripted:a file.json"')).toEqual([]);
});

test('every key of the schema has a description, and every key but model and settings a default', () => {
  for (const [section, { properties }] of Object.entries(configSchema.properties ?? {})) {
    for (const [key, { description, default: value }] of Object.entries(properties ?? {})) {
      const expected = [section, key, 'string', !['model', 'settings'].includes(key)];
      expect([section, key, typeof description, value !== undefined]).toEqual(expected);
    }
  }
});

test('a date is no table', () => {
  const issues = checkConfig(configSchema, parse('agent = 2020-01-01T00:00:00Z'));
  expect(issues.map(({ message }) => message)).toEqual(['agent must be a table, not a date']);
});

test.each([
  ['agent = 3', 'agent must be a table, not a number'],
  ['agent.workers = "4"', 'agent.workers must be a whole number from 1 to 256, not "4"'],
  ['agent.workers = 0', 'agent.workers must be a whole number from 1 to 256, not 0'],
  ['agent.workers = 1.5', 'agent.workers must be a whole number from 1 to 256, not 1.5'],
  ['agent.max_turns = -1', 'agent.max_turns must be a whole number from 1 on, not -1'],
  ['agent.parallel_tools = "no"', 'agent.parallel_tools must be true or false, not "no"'],
  ['agent.model = "gpt"', 'agent.model must be PROVIDER/NAME (such as "anthropic/…") or "scripted:FILE", not "gpt"'],
  ['agent.tool_timeout = 120', 'agent.tool_timeout must be a duration such as "2.5s", not 120'],
  ['agent.tool_timeout = "120"', 'agent.tool_timeout must be a duration such as "2.5s", "500ms" or "10m", not "120"'],
  ['lua.hold_limit = "0s"', 'lua.hold_limit must be more than zero, not "0s"'],
  ['lua.memory_limit = "512"', 'lua.memory_limit must be a size such as "512MB" or "1GiB", not "512"'],
  ['extensions.deny = "x"', 'extensions.deny must be a list of strings, not a string; write ["x"]'],
  ['extensions.deny = [1]', 'extensions.deny[0] must be a pattern such as "agent.*", not 1'],
  [
    'extensions.allow = ["ok", "a/*"]',
    'extensions.allow[1] holds the pattern "a/*", which is refused: "/" has no meaning',
  ],
  ['extensions.rocks = ["--server=x"]', 'extensions.rocks[0] must be a luarocks dependency'],
  ['extensions.paths = [" "]', 'extensions.paths[0] must be the path of a folder, not " "'],
  ['extensions.settings.foo = 1', 'extensions.settings.foo must be a table, not a number'],
  ['permissions.mode = "yes"', 'permissions.mode must be one of "ask", "auto", "read-only", not "yes"'],
  ['rocks.servers = ["luarocks.org"]', 'rocks.servers[0] must be an http, https or file URL'],
  ['[extensions]\nallwo = []', 'unknown key allwo in [extensions]; did you mean allow?'],
  ['[extension]\nallow = []', 'unknown key extension; did you mean extensions?'],
  ['model = "a/b"', 'unknown key model; it belongs in [agent]'],
  ['[agent]\nmode = "ask"', 'unknown key mode in [agent]; did you mean model?'],
  ['[lua]\nservers = []', 'unknown key servers in [lua]; it belongs in [rocks]'],
  ['zzz.y = 1', 'unknown key zzz; known are agent, lua, extensions, permissions, rocks, providers'],
  ['[permissions]\nconstructor = 1', 'unknown key constructor in [permissions]; known are mode'],
  ['"__proto__".x = 1', 'unknown key __proto__; known are'],
  ['[tools]\nallow = []', '[tools] is not a section: tools are switched by allow and deny in [extensions]'],
  ['[providers."my x"]\nurl = "y"', 'unknown key url in [providers."my x"]; known are api, base_url, api_key_env'],
])('%j is refused: %s', (text, expected) => {
  const messages = check(text);
  expect(messages).toHaveLength(1);
  expect(messages[0]!.startsWith(expected)).toBe(true);
});

test('a number that JSON cannot hold is refused inside settings', () => {
  const values = parse('extensions.settings.a.b = [1, nan]') as unknown;
  expect(checkConfig(configSchema, values)).toEqual([
    { path: ['extensions', 'settings', 'a', 'b', 1], at: 'value', message: expect.stringContaining('not NaN') },
  ]);
});

test.each(['api_key = "S3CRET"', 'api_key_env = "S3CRET-x"', 'base_url = "S3CRET"'])(
  'a secret in the wrong place is not repeated: %s',
  (line) => {
    const [message] = check(`[providers.anthropic]\n${line}\n`);
    expect(message).not.toContain('S3CRET');
    expect(message).toMatch(/api_key_env|base_url/);
  },
);
test('a secret given as the whole provider is not repeated either', () => {
  expect(check('providers.anthropic = "S3CRET"')).toEqual(['providers.anthropic must be a table, not a string']);
});

test('a duration beyond what a timer can hold is refused instead of firing at once', () => {
  expect(parseDuration('596h')).toBe(596 * 3_600_000);
  expect(parseDuration('597h')).toBe('a duration of at most "596h"');
  expect(['2.5s', '0ms', '0.1ms', '4.35s', '10m'].map(parseDuration)).toEqual([2500, 0, 1, 4350, 600_000]);
  expect(['', 's', '1', '-1s', '1 s', '1e3s', '1d', '.5s', '1s '].map((text) => typeof parseDuration(text))).toEqual(
    Array(9).fill('string'),
  );
});

test('MB are millions, MiB are not', () => {
  expect(['512MB', '1MiB', '1.5KiB', '7B', '2GB', '3kB'].map(parseSize)).toEqual([512e6, 1048576, 1536, 7, 2e9, 3000]);
  expect(['512', '1mb', '1TB', '99999999999999GB'].map((text) => typeof parseSize(text))).toEqual(
    Array(4).fill('string'),
  );
});

test.each([
  ['', 'an empty pattern'],
  ['!a', '"!" has no meaning'],
  ['[ab]', '"["'],
  ['{a,b}', '"{"'],
  ['+(a)', '"+"'],
  ['a/b', '"/"'],
  ['a\\*', '"\\"'],
  ['a b', '" "'],
  ['ü', '"ü"'],
  ['a**', '** must be a whole segment'],
  ['**a.b', '** must be a whole segment'],
  ['***', '** must be a whole segment'],
  ['a..b', 'a segment between two dots'],
  ['.a', 'a segment between two dots'],
  ['a.', 'a segment between two dots'],
])('the pattern %j is refused', (pattern, expected) => {
  expect(globProblem(pattern)).toContain(expected);
  expect(check(`extensions.deny = [${JSON.stringify(pattern)}]`)).toHaveLength(1);
});

test('suggestions are near and only near', () => {
  const words = ['allow', 'deny', 'rocks', 'paths', 'settings'];
  expect(['alow', 'dney', 'Rock', 'setings', 'path'].map((word) => closest(word, words))).toEqual([
    'allow',
    'deny',
    'rocks',
    'settings',
    'paths',
  ]);
  expect(['x', 'timeout', ''].map((word) => closest(word, words))).toEqual([undefined, undefined, undefined]);
});

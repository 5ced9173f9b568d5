// Where a model is asked, and what a wrong configuration says.
import { createProvider } from './index.js';
import { type ProvidersConfig, resolveModel } from './resolve.js';

const env = { ANTHROPIC_API_KEY: 'key-a', OPENAI_API_KEY: 'key-o' };
const resolve = (model: string, config: Partial<ProvidersConfig> = {}) =>
  resolveModel(model, { providers: {}, env, ...config });

test('the known services need a key and nothing else', () => {
  expect(resolve('anthropic/claude-x')).toEqual({
    api: 'anthropic',
    endpoint: {
      provider: 'anthropic',
      model: 'claude-x',
      baseUrl: 'https://api.anthropic.com/v1',
      key: 'key-a',
      keyEnv: 'ANTHROPIC_API_KEY',
    },
  });
  expect(resolve('openai/gpt-x').endpoint.baseUrl).toBe('https://api.openai.com/v1');
});

test('the address comes from the configuration, then from the variable of the service', () => {
  const withUrl = { ...env, ANTHROPIC_BASE_URL: 'http://proxy.test' };
  expect(resolve('anthropic/m', { env: withUrl }).endpoint.baseUrl).toBe('http://proxy.test/v1');
  const providers = { anthropic: { base_url: 'http://other.test/v1/' } };
  expect(resolve('anthropic/m', { env: withUrl, providers }).endpoint.baseUrl).toBe('http://other.test/v1');
});

test('a provider of one’s own has the address, the key and the wire format that it names', () => {
  const providers = {
    corp: { api: 'anthropic' as const, base_url: 'https://llm.test/claude', api_key_env: 'CORP_KEY' },
  };
  expect(resolve('corp/team/model', { providers, env: { CORP_KEY: ' k1\n' } })).toEqual({
    api: 'anthropic',
    endpoint: {
      provider: 'corp',
      model: 'team/model',
      baseUrl: 'https://llm.test/claude/v1',
      key: 'k1',
      keyEnv: 'CORP_KEY',
    },
  });
});

test('the key of a known service never goes to an address of one’s own provider', () => {
  const providers = { corp: { api: 'anthropic' as const, base_url: 'https://llm.test' } };
  expect(resolve('corp/m', { providers }).endpoint.key).toBeUndefined();
});

const bad: [string, string, Partial<ProvidersConfig>, string][] = [
  [
    'no provider',
    'gpt-x',
    {},
    'the model "gpt-x" names no provider; write PROVIDER/MODEL (providers: anthropic, openai)',
  ],
  [
    'an unknown provider',
    'nobody/m',
    { providers: { corp: {} } },
    'no provider "nobody" for the model "nobody/m"; there are anthropic, openai, corp; others are configured in [providers.nobody]',
  ],
  ['a name of every object', 'constructor/m', {}, 'no provider "constructor" for the model "constructor/m"'],
  ['no model', 'anthropic/', {}, 'the model "anthropic/" names no model; write anthropic/MODEL'],
  ['only a provider', 'anthropic', {}, 'the model "anthropic" names no model; write anthropic/MODEL'],
  [
    'no key',
    'anthropic/m',
    { env: { ANTHROPIC_API_KEY: ' ' } },
    'no key for the provider anthropic: set the environment variable ANTHROPIC_API_KEY, or name another one in [providers.anthropic] api_key_env',
  ],
  ['no address', 'corp/m', { providers: { corp: {} } }, '[providers.corp] has no base_url'],
  ['no real address', 'corp/m', { providers: { corp: { base_url: 'localhost:80' } } }, 'base_url "localhost:80"'],
  [
    'a password in the address',
    'corp/m',
    { providers: { corp: { base_url: 'https://me:secret@llm.test/v1' } } },
    'base_url of the provider corp must hold no user, query or fragment; keys go to api_key_env',
  ],
  [
    'an unknown wire format',
    'corp/m',
    { providers: { corp: { api: 'google' as 'openai', base_url: 'https://llm.test' } } },
    '[providers.corp] api = "google" is not known; one of anthropic, openai, openai-compatible',
  ],
  [
    'a key with a line break inside',
    'anthropic/m',
    { env: { ANTHROPIC_API_KEY: 'sk-secret\nsk-other' } },
    'the key in ANTHROPIC_API_KEY has characters that no key can have',
  ],
];
test.each(bad)('%s is one line that says what to set', async (_, model, config, line) => {
  const error = await createProvider(model, { providers: {}, env, ...config }).then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  expect(error?.name).toBe('ProviderError');
  expect(error?.message.startsWith(line)).toBe(true);
  expect(error?.message).not.toMatch(/\n|secret/);
});

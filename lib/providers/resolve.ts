// Where the requests of a model go: provider, address and key, from the model's name, the configuration and the environment.
import { type Endpoint, ProviderError } from './errors.js';

export type Api = 'anthropic' | 'openai' | 'openai-compatible';

/** [providers.NAME] */
export interface ProviderConfig {
  readonly api?: Api;
  readonly base_url?: string;
  readonly api_key_env?: string;
}

export interface ProvidersConfig {
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const ANTHROPIC_URL = 'https://api.anthropic.com/v1';
const OPENAI_URL = 'https://api.openai.com/v1';

const APIS: readonly Api[] = ['anthropic', 'openai', 'openai-compatible'];

/** What needs no configuration. The variables are the ones of the services' own clients. */
const BUILT_IN: Readonly<Record<string, { api: Api; keyEnv: string; urlEnv: string; url: string }>> = {
  anthropic: {
    api: 'anthropic',
    keyEnv: 'ANTHROPIC_API_KEY',
    urlEnv: 'ANTHROPIC_BASE_URL',
    url: ANTHROPIC_URL,
  },
  openai: { api: 'openai', keyEnv: 'OPENAI_API_KEY', urlEnv: 'OPENAI_BASE_URL', url: OPENAI_URL },
};

/** Where the requests of a model go; reads no file and no network. */
export function resolveModel(model: string, config: ProvidersConfig): { api: Api; endpoint: Endpoint } {
  const slash = model.indexOf('/');
  const provider = slash < 0 ? model : model.slice(0, slash);
  const name = slash < 0 ? '' : model.slice(slash + 1);
  const own = Object.hasOwn(config.providers, provider) ? config.providers[provider] : undefined;
  const builtIn = Object.hasOwn(BUILT_IN, provider) ? BUILT_IN[provider] : undefined;
  if (!own && !builtIn) throw new ProviderError(unknownProvider(model, config));
  if (name === '')
    throw new ProviderError(`the model "${model}" names no model; write ${provider || 'PROVIDER'}/MODEL`);

  const api = own?.api ?? builtIn?.api ?? 'openai-compatible';
  if (!APIS.includes(api)) {
    throw new ProviderError(`[providers.${provider}] api = "${api}" is not known; one of ${APIS.join(', ')}`);
  }
  const url = own?.base_url ?? (builtIn && (config.env[builtIn.urlEnv] || builtIn.url));
  if (url === undefined)
    throw new ProviderError(`[providers.${provider}] has no base_url; set it to the address of the service`);
  const keyEnv = own?.api_key_env ?? builtIn?.keyEnv;
  return {
    api,
    endpoint: {
      provider,
      model: name,
      baseUrl: checkUrl(url, provider, api),
      keyEnv,
      key: readKey(provider, keyEnv, config),
    },
  };
}

function unknownProvider(model: string, { providers }: ProvidersConfig): string {
  const names = [...new Set([...Object.keys(BUILT_IN), ...Object.keys(providers)])].join(', ');
  const [provider] = model.split('/');
  return model.includes('/')
    ? `no provider "${provider}" for the model "${model}"; there are ${names}; others are configured in [providers.${provider}]`
    : `the model "${model}" names no provider; write PROVIDER/MODEL (providers: ${names})`;
}

function checkUrl(url: string, provider: string, api: Api): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'https:' && parsed?.protocol !== 'http:') {
    throw new ProviderError(`base_url "${url}" of the provider ${provider} is no http(s) address`);
  }
  // Not quoted: it may hold a password or a key.
  if (parsed.username !== '' || parsed.password !== '' || parsed.search !== '' || parsed.hash !== '') {
    throw new ProviderError(
      `base_url of the provider ${provider} must hold no user, query or fragment; keys go to api_key_env`,
    );
  }
  const trimmed = url.replace(/\/+$/, '');
  // People write Anthropic's address with and without the version; its own clients add it.
  return api === 'anthropic' && !trimmed.endsWith('/v1') ? `${trimmed}/v1` : trimmed;
}

/** A provider of the user's own may need no key (a server on the same machine); one that names a variable needs it. */
function readKey(provider: string, keyEnv: string | undefined, { env }: ProvidersConfig): string | undefined {
  if (keyEnv === undefined) return undefined;
  const key = env[keyEnv]?.trim() ?? '';
  if (key === '') {
    throw new ProviderError(
      `no key for the provider ${provider}: set the environment variable ${keyEnv}, or name another one in [providers.${provider}] api_key_env`,
    );
  }
  // Node would quote the whole value in its error.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ProviderError(`the key in ${keyEnv} has characters that no key can have (a line break, a space?)`);
  }
  return key;
}

// The provider that a model's name stands for.
import { resolve } from 'node:path';
import type { Config } from '../config/config.js';
import type { Provider } from '../core/types.js';
import { type Api, createProvider, type ProviderConfig } from '../providers/index.js';
import type { Notify } from './notice.js';
import type { Setup } from './setup.js';

const scripted = 'scripted:';

/**
 * The provider of `--model`, else of the config.
 * @throws Error with one line that says what to set
 */
export async function openModel(model: string | undefined, setup: Setup, notify: Notify): Promise<Provider> {
  const name = model ?? setup.config.agent.model;
  if (name === undefined) {
    throw new Error('no model: give --model PROVIDER/NAME, or set model under [agent] in config.toml');
  }
  if (name.startsWith(scripted)) {
    const { createScriptedProvider } = await import('../providers/scripted.js');
    return createScriptedProvider(resolve(setup.cwd, name.slice(scripted.length)));
  }
  const providers = Object.entries(setup.config.providers).map(([id, provider]) => [id, asWritten(provider)] as const);
  return createProvider(
    name,
    { providers: Object.fromEntries<ProviderConfig>(providers), env: setup.env },
    {
      onRetry: ({ error, delayMs }) =>
        notify({ level: 'info', message: `${error.message}; trying again in ${Math.ceil(delayMs / 1000)} s` }),
    },
  );
}

function asWritten({ api, baseUrl, apiKeyEnv }: Config['providers'][string]): ProviderConfig {
  return {
    // An API that the config knows and the providers do not is refused by them, with one line.
    ...(api && { api: api as Api }),
    ...(baseUrl && { base_url: baseUrl }),
    ...(apiKeyEnv && { api_key_env: apiKeyEnv }),
  };
}

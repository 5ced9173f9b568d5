// The provider that a model's name stands for.
import { resolve } from 'node:path';
import type { Provider } from '../core/types.js';
import { createProvider } from '../providers/index.js';
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
  const providers = Object.entries(setup.config.providers).map(([id, { api, baseUrl, apiKeyEnv }]) => [
    id,
    { ...(api && { api }), ...(baseUrl && { base_url: baseUrl }), ...(apiKeyEnv && { api_key_env: apiKeyEnv }) },
  ]);
  return createProvider(
    name,
    { providers: Object.fromEntries(providers), env: setup.env },
    {
      onRetry: ({ error, delayMs }) =>
        notify({ level: 'info', message: `${error.message}; trying again in ${Math.ceil(delayMs / 1000)} s` }),
    },
  );
}

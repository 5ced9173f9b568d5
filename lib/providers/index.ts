// Finds the provider of a model's name ("anthropic/…", "openai/…", "NAME/…" of [providers.NAME]) and makes it. The SDK packages
// are imported only here and only when needed.
import type { Provider } from '../core/types.js';
import { type Endpoint, stalled } from './errors.js';
import { type Api, type ProvidersConfig, resolveModel } from './resolve.js';
import { defaultRetryLimits, systemClock } from './retry.js';
import { type TurnSettings, turnProvider } from './turn.js';
import { watchedFetch } from './wire.js';

export { ProviderError } from './errors.js';
export type { Api, ProviderConfig, ProvidersConfig } from './resolve.js';
export { type Clock, defaultRetryLimits, type RetryLimits } from './retry.js';
export type { RetryNotice } from './turn.js';

export interface ProviderSettings extends Partial<TurnSettings> {
  /** Milliseconds without a byte from the server after which a request is given up; default 120 s, at most 300 s (Node's own limit). */
  readonly stallMs?: number;
}

const STALL_MS = 120_000;
/**
 * The provider for a model.
 * @throws ProviderError with one line that names the variable or key to set
 */
export async function createProvider(
  model: string,
  config: ProvidersConfig,
  settings: ProviderSettings = {},
): Promise<Provider> {
  const { api, endpoint } = resolveModel(model, config);
  const stallMs = settings.stallMs ?? STALL_MS;
  const fetch = watchedFetch({ stallMs, stalled: () => stalled(endpoint, stallMs) });
  return turnProvider(model, await makeSurface(api, endpoint, fetch), endpoint, {
    retry: settings.retry ?? defaultRetryLimits,
    clock: settings.clock ?? systemClock,
    ...(settings.onRetry ? { onRetry: settings.onRetry } : {}),
  });
}

async function makeSurface(api: Api, endpoint: Endpoint, fetch: typeof globalThis.fetch) {
  if (api === 'anthropic') {
    const { anthropicSurface } = await import('./anthropic.js');
    return anthropicSurface(endpoint, fetch);
  }
  const { openAiCompatibleSurface } = await import('./openai-compatible.js');
  return openAiCompatibleSurface(endpoint, fetch, api === 'openai');
}

// Anthropic's Messages API, and servers that speak it, over @ai-sdk/anthropic.
import { createAnthropic } from '@ai-sdk/anthropic';
import type { Endpoint } from './errors.js';
import { type Dialect, toPrompt, toTools } from './prompt.js';
import { ANTHROPIC_URL } from './resolve.js';
import { readTurnOptions, type Surface } from './surface.js';

/**
 * The API wants a number. Enough for a long file in one call; the package lowers it to what a model it knows can give.
 */
const MAX_OUTPUT_TOKENS = 32_000;

const CACHE_MARK = { anthropic: { cacheControl: { type: 'ephemeral' } } };

export function anthropicSurface(endpoint: Endpoint, fetch: typeof globalThis.fetch): Surface {
  const dialect: Dialect = {
    provider: endpoint.provider,
    imagesInResults: true,
    joinTexts: false,
    inputAsText: false,
    longestId: 64,
    cacheMark: CACHE_MARK,
    toOptions: (data) => data,
  };
  return {
    // Everything is passed: what is left out, the package reads from the environment of the process.
    model: createAnthropic({ baseURL: endpoint.baseUrl, apiKey: endpoint.key ?? '', fetch })(endpoint.model),
    // The API streams no arguments for a tool that has no parameters.
    emptyInput: () => '{}',
    callOptions(request) {
      const { maxOutputTokens = MAX_OUTPUT_TOKENS, thinkingBudget, effort } = readTurnOptions(request.options);
      return {
        prompt: toPrompt(request, dialect),
        tools: toTools(request.tools),
        maxOutputTokens,
        providerOptions: {
          anthropic: {
            // Arguments as they are written, not when they are complete: else a long file is minutes of silence. A field
            // of the tools that other servers may not know.
            toolStreaming: endpoint.baseUrl === ANTHROPIC_URL,
            ...(thinkingBudget === undefined ? {} : { thinking: { type: 'enabled', budgetTokens: thinkingBudget } }),
            ...(effort === undefined ? {} : { effort }),
          },
        },
      };
    },
  };
}

// OpenAI's chat completions, and the many servers that speak them (Ollama, llama.cpp, vLLM, OpenRouter, …), over
// @ai-sdk/openai-compatible.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { SharedV3ProviderOptions } from '@ai-sdk/provider';
import type { ToolDecl } from '../core/types.js';
import { isRecord } from './error-text.js';
import type { Endpoint } from './errors.js';
import { type Dialect, toPrompt, toTools } from './prompt.js';
import { readTurnOptions, type Surface } from './surface.js';

/** The package files its data under this name; the user's name for the provider must not collide with its own. */
const NAMESPACE = 'chat';

/**
 * @param isOpenAi OpenAI itself renamed `max_tokens` and refuses the old name for new models; the others know only the old one
 */
export function openAiCompatibleSurface(
  endpoint: Endpoint,
  fetch: typeof globalThis.fetch,
  isOpenAi: boolean,
): Surface {
  const dialect: Dialect = {
    provider: endpoint.provider,
    imagesInResults: false,
    joinTexts: true,
    inputAsText: true,
    // OpenAI's limit.
    longestId: 40,
    toOptions: thoughtSignature,
  };
  const provider = createOpenAICompatible({
    name: NAMESPACE,
    baseURL: endpoint.baseUrl,
    ...(endpoint.key === undefined ? {} : { apiKey: endpoint.key }),
    includeUsage: true,
    fetch,
    ...(isOpenAi ? { transformRequestBody: renameMaxTokens } : {}),
  });
  return {
    model: provider.chatModel(endpoint.model),
    // Some servers send nothing for a tool without parameters; for any other the arguments are missing.
    emptyInput: (tool) => (tool && !hasParameters(tool) ? '{}' : ''),
    callOptions(request) {
      const { maxOutputTokens, effort } = readTurnOptions(request.options);
      return {
        prompt: toPrompt(request, dialect),
        tools: toTools(request.tools),
        // Only what was asked for: the servers' default is "as much as fits", and a number that does not fit is refused.
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        ...(effort === undefined ? {} : { providerOptions: { [NAMESPACE]: { reasoningEffort: effort } } }),
      };
    },
  };
}

function hasParameters({ inputSchema }: ToolDecl): boolean {
  const properties = isRecord(inputSchema) ? inputSchema.properties : undefined;
  return isRecord(properties) && Object.keys(properties).length > 0;
}

function renameMaxTokens({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  return max_tokens === undefined ? body : { ...body, max_completion_tokens: max_tokens };
}

/** Gemini's signature arrives under our name and is read back under Google's. */
function thoughtSignature(data: SharedV3ProviderOptions): SharedV3ProviderOptions {
  const signature = data[NAMESPACE]?.thoughtSignature;
  return signature === undefined ? {} : { google: { thoughtSignature: signature } };
}

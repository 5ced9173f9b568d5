// The environment of commands that the model runs: nothing waits for a person, no colours, and none of the secrets
// that belong to panto itself.
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** Model providers whose keys are panto's business; a command of the model has no use for them. */
const PROVIDERS = [
  'ANTHROPIC',
  'AZURE_OPENAI',
  'AZURE',
  'CEREBRAS',
  'CLAUDE_CODE',
  'COHERE',
  'DEEPSEEK',
  'FIREWORKS',
  'GEMINI',
  'GOOGLE',
  'GOOGLE_GENERATIVE_AI',
  'GROQ',
  'HF',
  'HUGGINGFACE',
  'HUGGINGFACEHUB',
  'HUGGING_FACE_HUB',
  'KIMI',
  'MINIMAX',
  'MISTRAL',
  'MOONSHOT',
  'NVIDIA',
  'OLLAMA',
  'OPENAI',
  'OPENROUTER',
  'PERPLEXITY',
  'REPLICATE',
  'TOGETHER',
  'VERCEL_AI_GATEWAY',
  'AI_GATEWAY',
  'XAI',
  'ZAI',
  'ZHIPU',
];
const SECRET = new RegExp(
  `^(?:(?:${PROVIDERS.join('|')})_(?:(?:API_|ADMIN_)?KEY|(?:API_|AUTH_|OAUTH_)?TOKEN)|AWS_BEARER_TOKEN_BEDROCK)$`,
  'i',
);

const QUIET: Readonly<Record<string, string>> = {
  NO_COLOR: '1',
  CLICOLOR: '0',
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  SYSTEMD_PAGER: 'cat',
  // Questions fail at once instead of opening an editor, a dialog or a prompt.
  GIT_EDITOR: 'true',
  GIT_TERMINAL_PROMPT: '0',
  SSH_ASKPASS_REQUIRE: 'never',
  DEBIAN_FRONTEND: 'noninteractive',
  PIP_NO_INPUT: '1',
};
/** These would switch colours on again. */
const UNSET = ['FORCE_COLOR', 'CLICOLOR_FORCE', 'COLORTERM'];

const HIDDEN_KEY = 'panto:hidden-environment';

/**
 * Names of further variables that commands must not see, such as the `api_key_env` of a configured provider. Call it on the
 * main thread before the workers start.
 */
export function hideFromCommands(names: readonly string[]): void {
  setEnvironmentData(HIDDEN_KEY, [...names]);
}

/** The environment for one command. */
export function commandEnvironment(): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = {};
  const hidden = getEnvironmentData(HIDDEN_KEY);
  const more = Array.isArray(hidden) ? hidden : [];
  for (const [name, value] of Object.entries(process.env)) {
    if (SECRET.test(name) || more.includes(name) || UNSET.includes(name)) continue;
    environment[name] = value;
  }
  return { ...environment, ...QUIET };
}

// Turns whatever a request to a model can fail with into one ProviderError: one line that names the provider, the cause and
// what to do, and says whether trying again can help. Keys, HTML pages and control sequences never get into the line.
import { isRecord, oneLine, readBody, withoutKeys } from './error-text.js';
import { retryAfterMs } from './retry.js';

/** 'briefly': two more tries at most, for what rarely heals by itself (nobody listens, a silent server). */
export type RetryAdvice = 'no' | 'briefly' | 'yes';

export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly status: number | undefined;
  readonly retry: RetryAdvice;
  /** What the server asked for in Retry-After, milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: { status?: number; retry?: RetryAdvice; retryAfterMs?: number } = {}) {
    super(message);
    this.status = details.status;
    this.retry = details.retry ?? 'no';
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Where requests go and how; what an error line may name (never the key itself). */
export interface Endpoint {
  /** Name of the provider as the user writes it: "anthropic", or NAME of [providers.NAME]. */
  readonly provider: string;
  readonly model: string;
  readonly baseUrl: string;
  readonly key: string | undefined;
  /** The environment variable that the key came from. */
  readonly keyEnv: string | undefined;
}

/** Error types in bodies; they decide before the status, since an error inside a stream has none. */
const TYPES_TO_RETRY = new Set([
  'overloaded_error',
  'rate_limit_error',
  'api_error',
  'timeout_error',
  'server_error',
  'rate_limit_exceeded',
]);
const TYPES_THAT_STAY = new Set([
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
  'billing_error',
  'insufficient_quota',
]);
/** 520-530: Cloudflare in front of an API; 529: Anthropic is overloaded. */
const STATUSES_TO_RETRY = new Set([408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530]);
/** Nothing answers there; waiting long would only hide a wrong address or a server that was not started. */
const CODES_TO_RETRY_BRIEFLY = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Any error of one request, as a ProviderError. */
export function describeFailure(error: unknown, endpoint: Endpoint): ProviderError {
  const own = causes(error).find((cause) => cause instanceof ProviderError);
  if (own) return own;
  const sent = unreadable(error);
  if (sent !== undefined) {
    const { cause } = readBody(sent);
    return failure(endpoint, `it sent what the protocol does not know: ${cause}`, { retry: 'briefly' });
  }
  if (isApiError(error) && error.statusCode !== undefined && error.statusCode !== 200) {
    return describeAnswer(error, error.statusCode, endpoint);
  }
  return isStreamError(error) ? describeStreamError(error, endpoint) : describeConnection(error, endpoint);
}

/** The answer ended before the model said that it is finished. */
export function endedEarly(endpoint: Endpoint, contentType: string | undefined): ProviderError {
  if (contentType !== undefined && !/event-stream|octet-stream|text\/plain/i.test(contentType)) {
    return failure(
      endpoint,
      `it answered with ${contentType} instead of a stream of events; ${checkBaseUrl(endpoint)}`,
    );
  }
  return failure(endpoint, 'the connection was lost before the answer was complete', { retry: 'yes' });
}

/** Not one byte came for the whole stall limit. */
export function stalled(endpoint: Endpoint, stallMs: number): ProviderError {
  return failure(endpoint, `no byte came for ${seconds(stallMs)}, the request was given up`, { retry: 'briefly' });
}

/** The same error after the last try. */
export function gaveUp(error: ProviderError, tries: number, spentMs: number, limitMs: number): ProviderError {
  const asked = error.retryAfterMs ?? 0;
  const wait =
    asked > limitMs - spentMs
      ? `; it asks to wait ${seconds(asked)}, which is more than panto waits`
      : tries > 1
        ? `; gave up after ${tries} tries in ${seconds(spentMs)}`
        : '';
  return new ProviderError(error.message + wait, {
    ...(error.status === undefined ? {} : { status: error.status }),
    retry: 'no',
  });
}

interface ApiError {
  readonly statusCode?: number;
  readonly responseBody?: string;
  readonly responseHeaders?: Record<string, string>;
}

// By name and shape: an error may come from another realm or another copy of the package.
function isApiError(error: unknown): error is ApiError {
  return nameOf(error) === 'AI_APICallError';
}

interface StreamError {
  readonly message: string;
  readonly type?: string | null;
  readonly code?: string | number | null;
}

function isStreamError(error: unknown): error is StreamError {
  return isRecord(error) && !(error instanceof Error) && nameOf(error) === '' && typeof error.message === 'string';
}

function describeAnswer(error: ApiError, status: number, endpoint: Endpoint): ProviderError {
  const headers = error.responseHeaders ?? {};
  const body = readBody(error.responseBody ?? '');
  const retry = adviseRetry(status, body.type, headers['x-should-retry']);
  const cause = body.cause === '' ? '' : `: ${body.cause}`;
  const type = body.type === undefined || body.type === '' ? '' : ` (${body.type})`;
  const moved = status >= 300 && status < 400 ? headers.location : undefined;
  const hint =
    moved === undefined ? hintFor(status, body.type, endpoint) : `it moved to ${moved}; set base_url to that`;
  const after = retryAfterMs(headers, Date.now());
  return failure(endpoint, `HTTP ${status}${type}${cause}${hint === '' ? '' : `; ${hint}`}`, {
    status,
    retry,
    ...(after === undefined ? {} : { retryAfterMs: after }),
  });
}

function describeStreamError(error: StreamError, endpoint: Endpoint): ProviderError {
  const status = typeof error.code === 'number' && error.code >= 400 && error.code < 600 ? error.code : undefined;
  const body = readBody(JSON.stringify({ error }));
  const retry = status === undefined && !known(body.type) ? 'briefly' : adviseRetry(status ?? 0, body.type, undefined);
  const kind = body.type ?? (status === undefined ? 'error' : `error ${status}`);
  const hint = hintFor(status ?? 0, body.type, endpoint);
  return failure(endpoint, `${kind} in the middle of the answer: ${body.cause}${hint === '' ? '' : `; ${hint}`}`, {
    ...(status === undefined ? {} : { status }),
    retry,
  });
}

function describeConnection(error: unknown, endpoint: Endpoint): ProviderError {
  const { code, message } = rootCause(error);
  const host = hostOf(endpoint.baseUrl);
  if (code !== undefined && /CERT|SSL|TLS|SELF_SIGNED|ISSUER/.test(code)) {
    return failure(
      endpoint,
      `cannot trust the certificate of ${host} (${code}); NODE_EXTRA_CA_CERTS names own authorities`,
    );
  }
  if (code !== undefined && CODES_TO_RETRY_BRIEFLY.has(code)) {
    return failure(endpoint, `cannot reach ${host} (${code}); check the network and base_url`, { retry: 'briefly' });
  }
  if (isApiError(error) || code !== undefined) {
    return failure(endpoint, `the connection to ${host} was lost (${code ?? message})`, { retry: 'yes' });
  }
  return failure(endpoint, message);
}

function adviseRetry(status: number, type: string | undefined, shouldRetry: string | undefined): RetryAdvice {
  // Anthropic's and OpenAI's own clients obey this header before all else.
  if (shouldRetry === 'true') return 'yes';
  if (shouldRetry === 'false') return 'no';
  if (type !== undefined && TYPES_THAT_STAY.has(type)) return 'no';
  if (type !== undefined && TYPES_TO_RETRY.has(type)) return 'yes';
  return STATUSES_TO_RETRY.has(status) ? 'yes' : 'no';
}

function known(type: string | undefined): boolean {
  return type !== undefined && (TYPES_TO_RETRY.has(type) || TYPES_THAT_STAY.has(type));
}

function hintFor(status: number, type: string | undefined, endpoint: Endpoint): string {
  if (type === 'insufficient_quota' || type === 'billing_error' || status === 402)
    return 'check the plan of the account';
  if (status === 401 || type === 'authentication_error') {
    return endpoint.keyEnv === undefined
      ? `set api_key_env of [providers.${endpoint.provider}] to the variable with the key`
      : `check the key in ${endpoint.keyEnv}`;
  }
  if (status === 403) return endpoint.keyEnv === undefined ? '' : `the key in ${endpoint.keyEnv} may not do this`;
  if (status === 404) return `check the model "${endpoint.model}" and base_url (${endpoint.baseUrl})`;
  return '';
}

function checkBaseUrl(endpoint: Endpoint): string {
  return `check base_url of [providers.${endpoint.provider}] (${endpoint.baseUrl})`;
}

export function failure(
  endpoint: Endpoint,
  what: string,
  details: { status?: number; retry?: RetryAdvice; retryAfterMs?: number } = {},
): ProviderError {
  return new ProviderError(`${endpoint.provider}: ${oneLine(withoutKeys(what, endpoint.key))}`, details);
}

/** The error and what it was caused by, outermost first. */
function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at !== undefined && !chain.includes(at); at = isRecord(at) ? at.cause : undefined)
    chain.push(at);
  return chain;
}

function rootCause(error: unknown): { code: string | undefined; message: string } {
  // Node tries each address of a host and reports them together.
  const chain = causes(error).flatMap((at) => (isRecord(at) && Array.isArray(at.errors) ? [at, ...at.errors] : [at]));
  const last = (key: string) =>
    chain
      .flatMap((at) => (isRecord(at) && typeof at[key] === 'string' && at[key] !== '' ? [String(at[key])] : []))
      .at(-1);
  return { code: last('code'), message: last('message') ?? String(error) };
}

/** The chunk of a stream that could not be read, where `error` says so. */
function unreadable(error: unknown): string | undefined {
  // The Anthropic package turns such an error into an answer with status 500 when it is the first chunk.
  const found = isApiError(error) ? parsed(error.responseBody) : error;
  if (nameOf(found) !== 'AI_TypeValidationError' && nameOf(found) !== 'AI_JSONParseError') return undefined;
  if (!isRecord(found)) return undefined;
  return typeof found.text === 'string' ? found.text : (JSON.stringify(found.value) ?? '');
}

function parsed(json: string | undefined): unknown {
  try {
    return JSON.parse(json ?? '');
  } catch {
    return undefined;
  }
}

function nameOf(error: unknown): string {
  return isRecord(error) && typeof error.name === 'string' ? error.name : '';
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms / 100) / 10} s` : `${Math.round(ms / 1000)} s`;
}

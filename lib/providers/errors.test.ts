// Every failure is one line that says what happened and what to do.
import { APICallError } from '@ai-sdk/provider';
import { describeFailure, type Endpoint } from './errors.js';

const endpoint: Endpoint = {
  provider: 'corp',
  model: 'big-model',
  baseUrl: 'https://llm.test/v1',
  key: 'topsecret-key-1',
  keyEnv: 'CORP_KEY',
};
const answered = (statusCode: number, responseBody: string, responseHeaders: Record<string, string> = {}) =>
  describeFailure(
    new APICallError({ message: 'x', url: 'u', requestBodyValues: {}, statusCode, responseBody, responseHeaders }),
    endpoint,
  );

const bodies: [string, number, string, string, string][] = [
  ['a plain message', 400, '{"error":{"message":"too long"}}', 'corp: HTTP 400: too long', 'no'],
  ['a message without an envelope', 422, '{"message":"bad field"}', 'corp: HTTP 422: bad field', 'no'],
  ['a text as error', 500, '{"error":"model not loaded"}', 'corp: HTTP 500: model not loaded', 'yes'],
  ['a list', 400, '[{"error":{"message":"no","status":"INVALID"}}]', 'corp: HTTP 400 (INVALID): no', 'no'],
  [
    'the words of a service behind',
    502,
    '{"error":{"message":"Provider returned error","metadata":{"raw":"context full"}}}',
    'corp: HTTP 502: Provider returned error: context full',
    'yes',
  ],
  ['nothing', 503, '', 'corp: HTTP 503', 'yes'],
  ['plain text', 504, 'upstream timed out\n', 'corp: HTTP 504: upstream timed out', 'yes'],
  ['a page without title', 502, '<html><body>oops', 'corp: HTTP 502: an HTML page', 'yes'],
  ['no permission', 403, '{"error":{"message":"no"}}', 'corp: HTTP 403: no; the key in CORP_KEY may not do this', 'no'],
  [
    'an unknown model',
    404,
    '{"error":{"message":"not found"}}',
    'corp: HTTP 404: not found; check the model "big-model" and base_url (https://llm.test/v1)',
    'no',
  ],
];
test.each(bodies)('an answer with %s is one line', (_, status, body, line, retry) => {
  const error = answered(status, body);
  expect([error.message, error.retry]).toEqual([line, retry]);
});

test('a body of any length leaves a line of reasonable length', () => {
  expect(answered(400, 'word '.repeat(10_000)).message.length).toBeLessThan(400);
});

test('keys are hidden, the own one and those of others', () => {
  const { message } = answered(400, 'got topsecret-key-1 and sk-ant-REDACTED');
  expect(message).toBe('corp: HTTP 400: got *** and sk-***');
});

test('the service may say whether to try again', () => {
  expect(answered(400, '', { 'x-should-retry': 'true' }).retry).toBe('yes');
  expect(answered(503, '', { 'x-should-retry': 'false' }).retry).toBe('no');
});

test('a 401 of a provider without a key says where a key is named', () => {
  const error = new APICallError({ message: 'x', url: 'u', requestBodyValues: {}, statusCode: 401, responseBody: '' });
  expect(describeFailure(error, { ...endpoint, key: undefined, keyEnv: undefined }).message).toBe(
    'corp: HTTP 401; set api_key_env of [providers.corp] to the variable with the key',
  );
});

const connections: [string, string, string][] = [
  ['ENOTFOUND', 'corp: cannot reach llm.test (ENOTFOUND); check the network and base_url', 'briefly'],
  ['ECONNRESET', 'corp: the connection to llm.test was lost (ECONNRESET)', 'yes'],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'corp: cannot trust the certificate of llm.test (DEPTH_ZERO_SELF_SIGNED_CERT); NODE_EXTRA_CA_CERTS names own authorities',
    'no',
  ],
];
test.each(connections)('%s is explained', (code, line, retry) => {
  const cause = new AggregateError([Object.assign(new Error('inner'), { code })], '');
  const error = describeFailure(new TypeError('fetch failed', { cause }), endpoint);
  expect([error.message, error.retry]).toEqual([line, retry]);
});

test('a chunk that cannot be read shows what was sent, not how the check failed', () => {
  const error = Object.assign(new Error('Type validation failed: … Error message: [ 400 lines ]'), {
    name: 'AI_TypeValidationError',
    value: { error: 'model crashed' },
  });
  expect(describeFailure(error, endpoint).message).toBe('corp: it sent what the protocol does not know: model crashed');
});

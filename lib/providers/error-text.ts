// The texts of errors: what a server's answer says, made fit for one line of a terminal.

const LONGEST_CAUSE = 300;

/** What an error body says: JSON of any provider, an HTML page, plain text. */
export function readBody(body: string): { cause: string; type?: string } {
  const { cause, type } = parseBody(body);
  return { cause: shorten(oneLine(cause)), ...(type === undefined ? {} : { type }) };
}

function parseBody(body: string): { cause: string; type?: string } {
  const text = body.trim();
  if (text.startsWith('<')) {
    const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim();
    return { cause: title ? `an HTML page, "${title}"` : 'an HTML page' };
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { cause: text };
  }
  // Google answers with a list of one.
  const outer = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!isRecord(outer)) return { cause: typeof outer === 'string' ? outer : text };
  const inner = isRecord(outer.error) ? outer.error : outer;
  const type = [inner.type, inner.code, inner.status].find((value) => typeof value === 'string' && value !== 'error');
  const message = [inner.message, outer.error, outer.message, outer.detail].find((value) => typeof value === 'string');
  // OpenRouter hands on the words of the service behind it.
  const behind = isRecord(inner.metadata) && typeof inner.metadata.raw === 'string' ? `: ${inner.metadata.raw}` : '';
  // OpenAI's type of an exhausted account is its code, its type says little.
  const named = inner.code === 'insufficient_quota' ? 'insufficient_quota' : type;
  return {
    cause: `${typeof message === 'string' ? message : text}${behind}`,
    ...(typeof named === 'string' ? { type: named } : {}),
  };
}

/** Servers quote keys in their errors, and Node quotes header values it refuses. */
export function withoutKeys(text: string, key: string | undefined): string {
  const hidden = key === undefined || key.length < 4 ? text : text.replaceAll(key, '***');
  return hidden.replace(/\b(sk|key|pk|rk|gsk|xai)-[\w-]{8,}/g, '$1-***');
}

export function oneLine(text: string): string {
  const line = text
    .replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, '')
    .replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
  return line.trim();
}

function shorten(text: string): string {
  return text.length <= LONGEST_CAUSE ? text : `${text.slice(0, LONGEST_CAUSE)}…`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

// What kind of file a beginning of bytes belongs to: UTF-8 text, an image that models can see, or neither.

/** How many bytes of a file the decision needs. */
export const SNIFF_BYTES = 8192;

export type FileKind =
  | { readonly kind: 'text'; readonly bom: boolean }
  | { readonly kind: 'image'; readonly mime: string }
  | { readonly kind: 'utf16'; readonly encoding: 'UTF-16' | 'UTF-32' }
  | { readonly kind: 'binary' };

/** Above this share of bytes that are no UTF-8 or control characters, the content is no text for us. */
const MAX_NOISE = 0.3;

export function sniff(head: Uint8Array): FileKind {
  const mime = imageType(head);
  if (mime) return { kind: 'image', mime };
  if (begins(head, [0xff, 0xfe, 0, 0]) || begins(head, [0, 0, 0xfe, 0xff]))
    return { kind: 'utf16', encoding: 'UTF-32' };
  if (begins(head, [0xff, 0xfe]) || begins(head, [0xfe, 0xff])) return { kind: 'utf16', encoding: 'UTF-16' };
  if (head.includes(0) || begins(head, ascii('%PDF-'))) return { kind: 'binary' };
  if (noise(head) > MAX_NOISE) return { kind: 'binary' };
  return { kind: 'text', bom: begins(head, BOM) };
}

/** UTF-8's byte order mark. */
export const BOM: readonly number[] = [0xef, 0xbb, 0xbf];

export function begins(bytes: Uint8Array, prefix: readonly number[], at = 0): boolean {
  return prefix.every((byte, i) => bytes[at + i] === byte);
}

/** Why a file that is no text cannot be read or edited: one line with the way out. */
export function refusal(shown: string, kind: Exclude<FileKind, { kind: 'text' }>): string {
  if (kind.kind === 'utf16') {
    const convert = `iconv -f ${kind.encoding} -t UTF-8`;
    return `${shown} is ${kind.encoding} text; only UTF-8 is supported: convert it with bash (${convert})`;
  }
  if (kind.kind === 'image') return `${shown} is an image (${kind.mime}), not text`;
  return `${shown} is a binary file (not UTF-8 text): inspect it with bash (file, strings, xxd)`;
}

function imageType(head: Uint8Array): string | undefined {
  if (begins(head, [0x89, ...ascii('PNG'), 0x0d, 0x0a, 0x1a, 0x0a])) return 'image/png';
  if (begins(head, [0xff, 0xd8, 0xff])) return 'image/jpeg';
  if (begins(head, ascii('GIF87a')) || begins(head, ascii('GIF89a'))) return 'image/gif';
  if (begins(head, ascii('RIFF')) && begins(head, ascii('WEBP'), 8)) return 'image/webp';
  return undefined;
}

function ascii(text: string): number[] {
  return [...text].map((char) => char.charCodeAt(0));
}

function noise(head: Uint8Array): number {
  if (head.length === 0) return 0;
  const text = new TextDecoder().decode(head);
  const strange = text.match(/[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f\ufffd]/g)?.length ?? 0;
  return strange / text.length;
}

/**
 * Tokens that continue a paged list: URL-safe base64 of JSON with the version of the first page and the key where the
 * next one starts. Clients see them as opaque.
 */
import { jsonSyntaxError } from '#apimachinery/codec/json/syntax-error.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { Revision } from '#storage/store.js';

export interface ContinueToken {
  /** Version of the list's first page; undefined continues at the newest version (an inconsistent continuation). */
  readonly revision: Revision | undefined;
  /** Below the resource's prefix, inclusive. */
  readonly startKey: string;
}

const tokenVersion = 'meta.v1';

export function encodeContinue(token: ContinueToken): string {
  const rv = token.revision === undefined ? -1 : Number(token.revision);
  return Buffer.from(JSON.stringify({ v: tokenVersion, rv, start: token.startKey })).toString('base64url');
}

/** Offset of the first byte that is not unpadded base64url; undefined if the text is valid. */
function illegalByte(text: string): number | undefined {
  const index = text.search(/[^\w\r\n-]/);
  if (index >= 0) return Buffer.byteLength(text.slice(0, index));
  return text.replace(/[\r\n]/g, '').length % 4 === 1 ? text.length - 1 : undefined;
}

/** Throws 400 for a malformed token, and for a start key outside `scope`, the keys that the list may read. */
export function decodeContinue(text: string, scope: string): ContinueToken {
  const refuse = (why: string, cause?: unknown) =>
    badRequest(`invalid continue token: continue key is not valid: ${why}`, cause);
  const illegal = illegalByte(text);
  if (illegal !== undefined) throw refuse(`illegal base64 data at input byte ${illegal}`);
  const bytes = Buffer.from(text, 'base64url');
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch (error) {
    throw refuse(jsonSyntaxError(bytes) ?? 'invalid character in token', error);
  }
  if (typeof value !== 'object' || value === null) throw refuse('not an object');
  const { v, rv, start } = value as Record<string, unknown>;
  if (v !== tokenVersion) throw refuse(`server does not recognize this encoded version ${JSON.stringify(v ?? '')}`);
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0 || rv < -1) {
    throw refuse('incorrect encoded start resourceVersion');
  }
  if (typeof start !== 'string' || start === '' || !start.startsWith(scope)) {
    throw refuse('encoded start key is out of range');
  }
  return { revision: rv === -1 ? undefined : BigInt(rv), startKey: start };
}

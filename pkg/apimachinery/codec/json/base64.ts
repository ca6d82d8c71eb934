/** Bytes in JSON. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Canonical base64. Ignores line breaks like Go. Throws a DecodeError. Pure. */
export function canonicalBase64(text: string): string {
  if (text.length % 4 === 0 && base64.test(text)) return withCanonicalEnd(text);
  const bare = text.replace(/[\r\n]/g, '');
  if (bare.length % 4 === 0 && base64.test(bare)) return withCanonicalEnd(bare);
  const illegal = /[^A-Za-z0-9+/\r\n]/.exec(text);
  // Without an illegal character the last quantum is incomplete; Go reports where it begins.
  throw new DecodeError(`illegal base64 data at input byte ${illegal?.index ?? text.length - (bare.length % 4)}`);
}

/** The last letter before the padding may have unused bits; Go ignores them. */
function withCanonicalEnd(text: string): string {
  if (!text.endsWith('=')) return text;
  const end = text.slice(-4);
  const canonical = Buffer.from(end, 'base64').toString('base64');
  return canonical === end ? text : text.slice(0, -4) + canonical;
}

/** Endings that make names unique. */
import { randomBytes } from 'node:crypto';

/** Without vowels and lookalikes, so that no words appear. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Five characters. */
export function uniqueSuffix(): string {
  return [...randomBytes(5)].map((byte) => alphabet.charAt(byte % alphabet.length)).join('');
}

/** Choices that depend only on a name, so that a new case leaves all others unchanged. */
import { createHash } from 'node:crypto';

/** Twelve hexadecimal digits. Pure. */
export function shortHash(text: string | Buffer): string {
  return createHash('sha1').update(text).digest('hex').slice(0, 12);
}

/** A number in [0, 1). Pure. */
export function fractionOf(text: string): number {
  return Number.parseInt(shortHash(text), 16) / 2 ** 48;
}

/** Picks one value. Throws a RangeError for an empty list. Pure. */
export function pick<T>(text: string, choices: readonly T[]): T {
  const choice = choices[Math.floor(fractionOf(text) * choices.length)];
  if (choice === undefined) throw new RangeError(`nothing to choose from for ${text}`);
  return choice;
}

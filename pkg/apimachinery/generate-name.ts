/** Names generated from `metadata.generateName`. */

/** The alphabet of 1.24: no vowels and no similar characters, so that no words appear. */
export const nameAlphabet = 'bcdfghjklmnpqrstvwxz2456789';
const randomLength = 5;
const maxLength = 63;

/** `web-` → `web-x7k2q`; a long base is cut so that the name stays a DNS label. */
export function generateName(base: string, random: () => number): string {
  let suffix = '';
  for (let i = 0; i < randomLength; i += 1) suffix += nameAlphabet[Math.floor(random() * nameAlphabet.length)] ?? 'x';
  return base.slice(0, maxLength - randomLength) + suffix;
}

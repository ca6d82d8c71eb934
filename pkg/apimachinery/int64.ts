/** Integers of 64 bits in text, as annotations carry them: numbers of JavaScript are exact to 2^53 only. */

const integer = /^[+-]?[0-9]{1,4096}$/;

/** The decimal integer that the whole text is, undefined when it is none or has more than 64 bits (sign included). */
export function parseInt64(text: string): bigint | undefined {
  if (!integer.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value === BigInt.asIntN(64, value) ? value : undefined;
}

/** JSON texts into values, as Go reads them. */

const anySurrogate = /\\u[dD][89a-fA-F]/;
const escapes =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|[\s\S])/g;

/**
 * JSON.parse, but that an escaped half of a surrogate pair becomes U+FFFD: strings are UTF-8 wherever else they go, which
 * cannot hold a half. Throws a SyntaxError.
 */
export function parseJSONText(text: string): unknown {
  // Looking for two characters is several times faster than the expression, and few texts have them.
  if (!text.includes('\\u') || !anySurrogate.test(text)) return JSON.parse(text);
  return JSON.parse(
    text.replace(escapes, (whole: string, half: string | undefined) => (half === undefined ? whole : '\\ufffd')),
  );
}

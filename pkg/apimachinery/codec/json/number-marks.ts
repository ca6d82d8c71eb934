/** Finds the numbers of JSON texts that JSON.parse does not read as Go does, and gets them around it. */

/** True where `JSON.parse` loses nothing: of `text`, which is a number of JSON. */
function isPlain(text: string): boolean {
  const value = Number(text);
  return String(value) === text && (Number.isSafeInteger(value) || !Number.isInteger(value));
}

const zero = 0x30;
const nine = 0x39;
/** Digits of the smallest integer that a double may not hold. */
const longDigits = 16;

/**
 * Whether the text has as many digits in a row as an integer beyond ±(2^53-1) has: also in its strings. One character of
 * sixteen is looked at, which takes a fiftieth of the time of parsing.
 */
export function mayHaveLongIntegers(text: string): boolean {
  for (let at = longDigits - 1; at < text.length; at += longDigits) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let first = at;
    while (first > 0 && isDigit(text.charCodeAt(first - 1))) first--;
    while (isDigit(text.charCodeAt(at + 1))) at++;
    if (at - first >= longDigits - 1) return true;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}

/** Where a number with a fraction or an exponent may end: also in strings, but not in versions (`nginx:1.19`) and addresses. */
const fraction = /[:,[\s]-?\d+(?:\.\d+[^"./:\d]|[eE][+-]?\d)/;

/** Whether the text may have numbers that are not plain. */
export function mayHaveLiterals(text: string): boolean {
  return mayHaveLongIntegers(text) || fraction.test(text);
}

/** Half of a surrogate pair: no string of a parsed text has it. */
const mark = '\ud800';
const tokens = /"(?:[^"\\]|\\[\s\S])*"|-?\d[\d.eE+-]*/g;
const numberToken = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The text with the numbers that are not plain in strings of their own: see `unmarked`. */
export function withMarks(text: string): string {
  return text.replace(tokens, (token) =>
    token.startsWith('"') || !numberToken.test(token) || isPlain(token) ? token : `"\\ud800${token}"`,
  );
}

/** The value of a text `withMarks`, changed in place: what the numbers become, `of` says. */
export function unmarked(value: unknown, of: (text: string) => unknown): unknown {
  const holder: unknown[] = [value];
  const open: object[] = [holder];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    for (const key of Object.keys(part)) {
      const member: unknown = Reflect.get(part, key);
      if (typeof member === 'object' && member !== null) open.push(member);
      else if (typeof member === 'string' && member.startsWith(mark)) {
        Object.defineProperty(part, key, {
          value: of(member.slice(1)),
          enumerable: true,
          writable: true,
          configurable: true,
        });
      }
    }
  }
  return holder[0];
}

/**
 * What is wrong with a text that is no JSON, in the words of Go's scanner, which clients of 1.24 know. Slow beside the
 * parser of the runtime, so that only texts which that one refused come here.
 * Source: encoding/json/scanner.go.
 */

const unexpectedEnd = 'unexpected end of JSON input';
const quote = 0x22;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const backslash = 0x5c;

/** A scan holds everything else up: longer texts are not looked at. */
const maxBytes = 65_536;

/** Levels that Go's decoder follows. */
const maxNesting = 10_000;

/** Undefined where nothing is wrong, and for texts that are longer than the scanner follows. Pure. */
export function jsonSyntaxError(bytes: Uint8Array): string | undefined {
  if (bytes.length > maxBytes) return undefined;
  try {
    new Scanner(bytes).document();
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxFailure) return error.message;
    if (error instanceof RangeError) return tooDeep(bytes);
    throw error;
  }
}

/** Of a text that nests too deep for the scanner. */
function tooDeep(bytes: Uint8Array): string | undefined {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isString && byte === backslash) at++;
    else if (byte === quote) isString = !isString;
    else if (isString || byte === undefined) continue;
    else if (byte === openBrace || byte === openBracket) {
      depth++;
      if (depth > maxNesting) return `invalid character '${String.fromCharCode(byte)}' exceeded max depth`;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return undefined;
}

class SyntaxFailure extends Error {}

class Scanner {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  document(): void {
    this.#value();
    this.#space();
    if (this.#at < this.#bytes.length) throw this.#wrong('after top-level value');
  }

  #value(orEnd?: number): boolean {
    this.#space();
    const byte = this.#peek();
    if (orEnd !== undefined && byte === orEnd) return false;
    const char = String.fromCharCode(byte);
    if (char === '{') this.#members();
    else if (char === '[') this.#elements();
    else if (char === '"') this.#string();
    else if (char === '-' || isDigit(byte)) this.#number();
    else if (char in literals) this.#literal(literals[char] ?? '');
    else throw this.#wrong('looking for beginning of value');
    return true;
  }

  #members(): void {
    this.#at++;
    this.#space();
    if (this.#takes('}')) return;
    do {
      this.#space();
      if (this.#peek() !== quote) throw this.#wrong('looking for beginning of object key string');
      this.#string();
      this.#space();
      if (!this.#takes(':')) throw this.#wrong('after object key');
      this.#value();
      this.#space();
    } while (this.#takes(','));
    if (!this.#takes('}')) throw this.#wrong('after object key:value pair');
  }

  #elements(): void {
    this.#at++;
    if (!this.#value(0x5d)) {
      this.#at++;
      return;
    }
    this.#space();
    while (this.#takes(',')) {
      this.#value();
      this.#space();
    }
    if (!this.#takes(']')) throw this.#wrong('after array element');
  }

  #string(): void {
    for (this.#at++; ; this.#at++) {
      const byte = this.#peek();
      if (byte === quote) break;
      if (byte < 0x20) throw this.#wrong('in string literal');
      if (byte === backslash) this.#escape();
    }
    this.#at++;
  }

  #escape(): void {
    this.#at++;
    const char = String.fromCharCode(this.#peek());
    if (char === 'u') {
      for (let digits = 0; digits < 4; digits++) {
        this.#at++;
        if (!/[0-9a-fA-F]/.test(String.fromCharCode(this.#peek()))) {
          throw this.#wrong('in \\u hexadecimal character escape');
        }
      }
    } else if (!'bfnrt\\/"'.includes(char)) throw this.#wrong('in string escape code');
  }

  #number(): void {
    this.#takes('-');
    if (!this.#takes('0')) this.#digits('in numeric literal');
    if (this.#takes('.')) this.#digits('after decimal point in numeric literal');
    if (this.#takes('e') || this.#takes('E')) {
      if (!this.#takes('+')) this.#takes('-');
      this.#digits('in exponent of numeric literal');
    }
  }

  #digits(where: string): void {
    if (!isDigit(this.#peek())) throw this.#wrong(where);
    while (isDigit(this.#bytes[this.#at] ?? 0)) this.#at++;
  }

  #literal(text: string): void {
    for (const char of text) {
      if (this.#peek() !== char.charCodeAt(0)) throw this.#wrong(`in literal ${text} (expecting '${char}')`);
      this.#at++;
    }
  }

  #space(): void {
    while ([0x20, 0x09, 0x0a, 0x0d].includes(this.#bytes[this.#at] ?? 0)) this.#at++;
  }

  /** The next byte, which there must be. */
  #peek(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new SyntaxFailure(unexpectedEnd);
    return byte;
  }

  #takes(char: string): boolean {
    if (this.#bytes[this.#at] !== char.charCodeAt(0)) return false;
    this.#at++;
    return true;
  }

  #wrong(where: string): SyntaxFailure {
    return new SyntaxFailure(`invalid character ${shown(this.#peek())} ${where}`);
  }
}

const literals: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' };

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Each byte counts as a character of Latin-1. */
function shown(byte: number): string {
  const char = String.fromCharCode(byte);
  if (char === "'") return "'\\''";
  if (char === '"') return `'"'`;
  if (char === '\\') return "'\\\\'";
  const named: Readonly<Record<string, string>> = {
    '\x07': 'a',
    '\b': 'b',
    '\f': 'f',
    '\n': 'n',
    '\r': 'r',
    '\t': 't',
    '\v': 'v',
  };
  const short = named[char];
  if (short !== undefined) return `'\\${short}'`;
  if (byte < 0x20 || byte === 0x7f) return `'\\x${byte.toString(16).padStart(2, '0')}'`;
  if ((byte >= 0x80 && byte <= 0xa0) || byte === 0xad) return `'\\u00${byte.toString(16)}'`;
  return `'${char}'`;
}

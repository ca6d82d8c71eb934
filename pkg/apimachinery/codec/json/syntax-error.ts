/**
 * What is wrong with a text that is no JSON, in the words of Go's scanner, which clients of 1.24 know. Slow beside the
 * parser of the runtime, so that only texts which that one refused come here.
 * Source: encoding/json/scanner.go.
 */
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  JSONCursor,
  openBrace,
  openBracket,
  quote,
} from '#apimachinery/codec/json/cursor.js';

const unexpectedEnd = 'unexpected end of JSON input';

/** A scan holds everything else up: longer texts are not looked at. */
const maxBytes = 65_536;

/** Levels that Go's decoder follows. */
const maxNesting = 10_000;

/** Undefined where nothing is wrong, and for texts that are longer than the scanner follows. Pure. */
export function jsonSyntaxError(bytes: Buffer): string | undefined {
  if (bytes.length > maxBytes) return undefined;
  try {
    new Scanner(bytes).document();
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxFailure) return error.message;
    throw error;
  }
}

class SyntaxFailure extends Error {}

class Scanner {
  readonly #cursor: JSONCursor;
  /** What lists and objects that are not over yet begin with. */
  readonly #open: number[] = [];

  constructor(bytes: Buffer) {
    this.#cursor = new JSONCursor(bytes);
  }

  document(): void {
    do {
      if (this.#opens()) continue;
      while (this.#open.length > 0 && !this.#goesOn());
    } while (this.#open.length > 0);
    if (this.#cursor.next() >= 0) throw this.#wrong('after top-level value');
  }

  /** Goes behind a value; true where that has opened a list or an object, in which another value is to come. */
  #opens(): boolean {
    const byte = this.#next();
    if (byte === openBrace || byte === openBracket) {
      if (this.#open.length === maxNesting) throw this.#wrong('exceeded max depth');
      this.#cursor.at++;
      const first = this.#next();
      if (first === (byte === openBrace ? closeBrace : closeBracket)) {
        this.#cursor.at++;
        return false;
      }
      this.#open.push(byte);
      if (byte === openBrace) this.#key();
      return true;
    }
    const word = literals.get(byte);
    if (byte === quote) this.#string();
    else if (byte === minus || isDigit(byte)) this.#number();
    else if (word !== undefined) this.#literal(word);
    else throw this.#wrong('looking for beginning of value');
    return false;
  }

  /** Behind a value: true where another one is to come, false where the innermost list or object is over. */
  #goesOn(): boolean {
    const isObject = this.#open.at(-1) === openBrace;
    const byte = this.#next();
    if (byte !== comma && byte !== (isObject ? closeBrace : closeBracket)) {
      throw this.#wrong(isObject ? 'after object key:value pair' : 'after array element');
    }
    this.#cursor.at++;
    if (byte !== comma) this.#open.pop();
    else if (isObject) this.#key();
    return byte === comma;
  }

  #key(): void {
    if (this.#next() !== quote) throw this.#wrong('looking for beginning of object key string');
    this.#string();
    if (this.#next() !== colon) throw this.#wrong('after object key');
    this.#cursor.at++;
  }

  #string(): void {
    for (this.#cursor.at++; ; this.#cursor.at++) {
      const byte = this.#peek();
      if (byte === quote) break;
      if (byte < 0x20) throw this.#wrong('in string literal');
      if (byte === backslash) this.#escape();
    }
    this.#cursor.at++;
  }

  #escape(): void {
    this.#cursor.at++;
    const char = String.fromCharCode(this.#peek());
    if (char === 'u') {
      for (let digits = 0; digits < 4; digits++) {
        this.#cursor.at++;
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
    while (isDigit(this.#cursor.bytes[this.#cursor.at] ?? 0)) this.#cursor.at++;
  }

  #literal(text: string): void {
    for (const char of text) {
      if (this.#peek() !== char.charCodeAt(0)) throw this.#wrong(`in literal ${text} (expecting '${char}')`);
      this.#cursor.at++;
    }
  }

  /** The byte of the next token, which there must be. */
  #next(): number {
    this.#cursor.next();
    return this.#peek();
  }

  /** The byte at the cursor, which there must be. */
  #peek(): number {
    const byte = this.#cursor.bytes[this.#cursor.at];
    if (byte === undefined) throw new SyntaxFailure(unexpectedEnd);
    return byte;
  }

  #takes(char: string): boolean {
    if (this.#cursor.bytes[this.#cursor.at] !== char.charCodeAt(0)) return false;
    this.#cursor.at++;
    return true;
  }

  #wrong(where: string): SyntaxFailure {
    return new SyntaxFailure(`invalid character ${shown(this.#peek())} ${where}`);
  }
}

const literals = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]));
const minus = 0x2d;

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

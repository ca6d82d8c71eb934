/**
 * Describes a JSON syntax error in the words of Go's scanner, as clients of 1.24 expect. Slower than the runtime's
 * parser, so only rejected texts are scanned. Source: encoding/json/scanner.go.
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

/** Scanning blocks the event loop, so longer texts are not scanned. */
const maxBytes = 65_536;

/** Maximum nesting of Go's decoder. */
const maxNesting = 10_000;

/** Undefined for valid and for long texts. Pure. */
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
  /** The opening brackets of unfinished lists and objects. */
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

  /** Moves past a value; true if it opened a list or object, in which another value follows. */
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

  /** After a value: true if another one follows, false if the innermost list or object ends. */
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

  /** The first byte of the next token; throws at the end. */
  #next(): number {
    this.#cursor.next();
    return this.#peek();
  }

  /** The byte at the cursor; throws at the end. */
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

/** Each byte counts as a Latin-1 character. */
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

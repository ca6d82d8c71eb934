/**
 * Objects that others have stored, in the layout that this program reads: their members may be in any order, as they are
 * where 1.24 stores custom objects, by the alphabet. Nothing is parsed, so that every value stays as it was written.
 */
import { isStoredLayout } from '#storage/layout.js';

interface Member {
  readonly name: string;
  readonly value: Buffer;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** The value in the stored layout: itself where it is, undefined where it is no object in JSON. */
export function laidOut(value: Buffer): Buffer | undefined {
  if (isStoredLayout(value)) return value;
  const members = membersOf(value);
  if (members === undefined) return undefined;
  const head = ['kind', 'apiVersion', 'metadata'];
  const first = head.flatMap((name) => members.filter((member) => member.name === name).slice(-1));
  const metadata = first.find(({ name }) => name === 'metadata')?.value;
  const hasMetadata = metadata?.[0] === openBrace;
  const parts: (string | Buffer)[] = [];
  for (const { name, value: part } of first) if (name !== 'metadata') parts.push(`"${name}":`, part, ',');
  // What is no object cannot be anybody's metadata.
  parts.push('"metadata":', hasMetadata ? trimmed(metadata) : '{}');
  for (const { name, value: part } of members) {
    if (!head.includes(name)) parts.push(`,${JSON.stringify(name)}:`, part);
  }
  return Buffer.concat(['{', ...parts, '}'].map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** An object without blanks behind its brace: the resource version is put there. */
function trimmed(object: Buffer): Buffer {
  let at = 1;
  while (isBlank(object[at])) at++;
  return at === 1 ? object : Buffer.concat([object.subarray(0, 1), object.subarray(at)]);
}

function membersOf(json: Buffer): readonly Member[] | undefined {
  const scan = new Scan(json);
  if (!scan.take(openBrace)) return undefined;
  const members: Member[] = [];
  if (!scan.take(closeBrace)) {
    do {
      const name = scan.value();
      if (name?.[0] !== quote || !scan.take(colon)) return undefined;
      const value = scan.value();
      const text = textOf(name);
      if (value === undefined || text === undefined) return undefined;
      members.push({ name: text, value });
    } while (scan.take(comma));
    if (!scan.take(closeBrace)) return undefined;
  }
  return scan.isAtEnd() ? members : undefined;
}

function textOf(name: Buffer): string | undefined {
  try {
    return JSON.parse(name.toString('utf8')) as string;
  } catch {
    // Malformed, so that there is no object.
    return undefined;
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

class Scan {
  readonly #json: Buffer;
  #at = 0;

  constructor(json: Buffer) {
    this.#json = json;
  }

  take(byte: number): boolean {
    this.#skipBlanks();
    if (this.#json[this.#at] !== byte) return false;
    this.#at++;
    return true;
  }

  isAtEnd(): boolean {
    this.#skipBlanks();
    return this.#at === this.#json.length;
  }

  /** The bytes of a value of which only the ends are looked for; undefined where there is none. */
  value(): Buffer | undefined {
    this.#skipBlanks();
    const start = this.#at;
    let depth = 0;
    while (this.#at < this.#json.length) {
      const byte = this.#json[this.#at] as number;
      const isEnd = depth === 0 && this.#at > start;
      if (isEnd && (byte === comma || byte === closeBrace || byte === colon || isBlank(byte))) break;
      if (byte === quote) this.#skipText();
      else this.#at++;
      if (byte === openBrace || byte === openBracket) depth++;
      else if (byte === closeBrace || byte === closeBracket) depth--;
      if (depth < 0) return undefined;
      if (depth === 0 && (byte === quote || byte === closeBrace || byte === closeBracket)) break;
    }
    return depth === 0 && this.#at > start ? this.#json.subarray(start, this.#at) : undefined;
  }

  #skipText(): void {
    this.#at++;
    while (this.#at < this.#json.length && this.#json[this.#at] !== quote) {
      this.#at += this.#json[this.#at] === backslash ? 2 : 1;
    }
    this.#at++;
  }

  #skipBlanks(): void {
    while (isBlank(this.#json[this.#at])) this.#at++;
  }
}

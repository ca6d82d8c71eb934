/**
 * The JSON of an object without its bulk: for who wants to know little of many large objects, such as the names in
 * definitions with schemas of a megabyte. What is left out is skipped, not parsed.
 */

/** Members that are left out, at any depth: those that are `true`. `*` are the elements of a list. */
export interface Omissions {
  readonly [member: string]: true | Omissions;
}

/**
 * In memory of its own. Of what is left out only the ends are looked for. Throws a SyntaxError where they are not found;
 * other errors are for who parses the result.
 */
export function outlineOf(json: Buffer, omissions: Omissions): Buffer {
  return new Outliner(json).outline(omissions);
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const space = 0x20;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

class Outliner {
  readonly #json: Buffer;
  #at = 0;
  /** Of the stretches that stay: start and end of each. */
  readonly #kept: number[] = [];
  #keptFrom = 0;

  constructor(json: Buffer) {
    this.#json = json;
  }

  outline(omissions: Omissions): Buffer {
    this.#value(omissions);
    this.#cut(this.#json.length, this.#json.length);
    const kept = this.#kept;
    let length = 0;
    for (let i = 0; i < kept.length; i += 2) length += (kept[i + 1] as number) - (kept[i] as number);
    // Not from Node's shared pool: what is kept long would keep a whole slab of it alive.
    const outline = Buffer.allocUnsafeSlow(length);
    for (let i = 0, to = 0; i < kept.length; i += 2) to += this.#json.copy(outline, to, kept[i], kept[i + 1]);
    return outline;
  }

  /** Leaves out what is between. */
  #cut(start: number, end: number): void {
    if (start > this.#keptFrom) this.#kept.push(this.#keptFrom, start);
    this.#keptFrom = end;
  }

  #value(omissions: Omissions): void {
    const first = this.#next();
    if (first === openBrace) this.#object(omissions);
    else if (first === openBracket) this.#list(omissions['*']);
    else this.#skip();
  }

  #object(omissions: Omissions): void {
    this.#at++;
    /** Where what comes before the member ends, with the comma if there is one. */
    let before = this.#at;
    let isFirst = true;
    for (let next = this.#next(); next !== closeBrace; next = this.#next()) {
      if (next === comma) {
        this.#at++;
        continue;
      }
      if (next !== quote) throw new SyntaxError(`a member's name was expected at byte ${this.#at}`);
      const start = this.#at;
      this.#string();
      const omitted = omissions[this.#json.toString('latin1', start + 1, this.#at - 1)];
      if (this.#next() !== colon) throw new SyntaxError(`a colon was expected at byte ${this.#at}`);
      this.#at++;
      if (omitted === undefined || omitted === true) {
        this.#next();
        this.#skip();
      } else this.#value(omitted);
      if (omitted === true) {
        // A comma goes with it: the one before, or behind the first that of the next.
        let end = this.#at;
        if (isFirst && this.#next() === comma) end = this.#at + 1;
        this.#cut(isFirst ? start : before, end);
      } else isFirst = false;
      before = this.#at;
    }
    this.#at++;
  }

  #list(omissions: true | Omissions | undefined): void {
    if (omissions === undefined || omissions === true) return this.#skip();
    this.#at++;
    for (let next = this.#next(); next !== closeBracket; next = this.#next()) {
      if (next === comma) this.#at++;
      else this.#value(omissions);
    }
    this.#at++;
  }

  /** The byte at which the next token begins. */
  #next(): number {
    const json = this.#json;
    let at = this.#at;
    while (at < json.length && (json[at] as number) <= space) at++;
    this.#at = at;
    if (at >= json.length) throw new SyntaxError('the end came too early');
    return json[at] as number;
  }

  /** Goes behind the value that begins here. */
  #skip(): void {
    const json = this.#json;
    const { length } = json;
    let at = this.#at;
    let depth = 0;
    do {
      const byte = json[at] as number;
      if (byte === quote) at = endOfString(json, at);
      else if (byte === openBrace || byte === openBracket) depth++;
      else if (byte === closeBrace || byte === closeBracket) depth--;
      else if (depth === 0) {
        // A number or a word ends where something else begins.
        while (at + 1 < length && !isEnd(json[at + 1] as number)) at++;
      }
      at++;
    } while (depth > 0 && at < length);
    if (depth > 0 || at > length) throw new SyntaxError('the end came too early');
    this.#at = at;
  }

  /** Goes behind the string that begins here. */
  #string(): void {
    this.#at = endOfString(this.#json, this.#at) + 1;
    if (this.#at > this.#json.length) throw new SyntaxError('the end came too early');
  }
}

/** Where the quote is that ends the string that begins there; the length or more: nowhere. */
function endOfString(json: Buffer, start: number): number {
  const { length } = json;
  let at = start + 1;
  while (at < length) {
    const byte = json[at];
    if (byte === quote) break;
    at += byte === backslash ? 2 : 1;
  }
  return at;
}

function isEnd(byte: number): boolean {
  return byte <= space || byte === comma || byte === closeBrace || byte === closeBracket || byte === colon;
}

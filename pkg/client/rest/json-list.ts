/**
 * Reads lists in JSON while they arrive: each item is read when its last byte is there, so that a list of any size needs no
 * more memory than what is kept of its objects, and other work goes on in between.
 *
 * Only as much of the text is looked at as it takes to find the items; a list that is laid out in an odd way is read at
 * its end, as a whole.
 */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { jsonIn, parseJson } from '#client/rest/response.js';
import { TransportError } from '#http/client/transport-error.js';

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** Of the opening of the items, as programs write it; whoever indents says it with blanks. */
const opening = Buffer.from('"items":[');
/** The items come behind the metadata of the list, which is small. */
const maxHeadBytes = 16 * 1024;
/** A longer item is no object of the API. */
const maxItemBytes = 64 * 1024 * 1024;
/** Of the buffer to begin with: items are rarely larger, and several arrive at a time. */
const initialBytes = 64 * 1024;

export class JsonListReader {
  readonly #read: (item: Buffer) => unknown;
  readonly #items: unknown[] = [];
  /** What has arrived and is not read yet lies between `#at` and `#end`. */
  #buffer: Buffer = Buffer.allocUnsafe(0);
  #at = 0;
  #end = 0;
  #state: 'head' | 'first' | 'item' | 'between' | 'comma' | 'tail' | 'whole' = 'head';
  /** The text before the items. */
  #head = '';
  /** How far the present item has been looked at, and what was found there. */
  #seen = 0;
  #depth = 0;
  #inString = false;

  /** `read` is given each item that is an object; the bytes are used again afterwards. What it returns stands in the list. */
  constructor(read: (item: Buffer) => unknown) {
    this.#read = read;
  }

  /** Throws TransportError; the reader is of no use afterwards. */
  push(chunk: Buffer): void {
    this.#append(chunk);
    if (this.#state === 'head') this.#readHead();
    while (this.#state !== 'head' && this.#state !== 'tail' && this.#state !== 'whole') if (!this.#readNext()) return;
  }

  /** The whole list. Throws TransportError when it is not whole. */
  finish(): unknown {
    const rest = this.#buffer.subarray(this.#at, this.#end);
    if (this.#state === 'head' || this.#state === 'whole') return this.#whole(parseJson(rest));
    if (this.#state !== 'tail') throw new TransportError('Protocol', 'the list has no end');
    const list = jsonIn(this.#head + rest.toString()) as { items?: unknown };
    // What is said twice counts the last time.
    if (!Array.isArray(list.items) || list.items.length > 0) return this.#whole(list);
    list.items = this.#items;
    return list;
  }

  #whole(list: unknown): unknown {
    const { items } = (list ?? {}) as { items?: unknown };
    if (!Array.isArray(items)) return list;
    for (const [i, item] of items.entries()) items[i] = this.#read(Buffer.from(toJSONText(item)));
    return list;
  }

  /** Into the same memory over and over, as long as it is read in between. */
  #append(chunk: Buffer): void {
    const pending = this.#end - this.#at;
    if (pending + chunk.length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(initialBytes, 2 * (pending + chunk.length)));
      this.#buffer.copy(larger, 0, this.#at, this.#end);
      this.#buffer = larger;
    } else if (this.#end + chunk.length > this.#buffer.length) this.#buffer.copyWithin(0, this.#at, this.#end);
    else {
      this.#end += chunk.copy(this.#buffer, this.#end);
      return;
    }
    this.#seen -= this.#at;
    this.#at = 0;
    this.#end = pending + chunk.copy(this.#buffer, pending);
  }

  #readHead(): void {
    const text = this.#buffer.subarray(0, this.#end);
    const at = text.indexOf(opening);
    if (at < 0 || at > maxHeadBytes) {
      if (this.#end > maxHeadBytes + opening.length) this.#state = 'whole';
      return;
    }
    const start = at + opening.length;
    const head = text.toString('utf8', 0, start);
    if (!isHead(head)) {
      this.#state = 'whole';
      return;
    }
    this.#head = head;
    this.#at = start;
    this.#state = 'first';
  }

  /** False when more has to arrive. */
  #readNext(): boolean {
    if (this.#state === 'item') return this.#readItem();
    while (this.#at < this.#end && isBlank(this.#buffer[this.#at])) this.#at++;
    if (this.#at === this.#end) return false;
    const byte = this.#buffer[this.#at];
    if (byte === closeBracket && this.#state !== 'comma') this.#state = 'tail';
    else if (byte === comma && this.#state === 'between') {
      this.#at++;
      this.#state = 'comma';
    } else if (byte === openBrace && this.#state !== 'between') {
      this.#state = 'item';
      this.#seen = this.#at;
    } else throw new TransportError('Protocol', 'the answer is not a list of objects');
    return true;
  }

  #readItem(): boolean {
    const end = this.#endOfItem();
    if (end === undefined) {
      if (this.#end - this.#at <= maxItemBytes) return false;
      throw new TransportError('Protocol', `an item of ${this.#end - this.#at} bytes is too large`);
    }
    this.#items.push(this.#read(this.#buffer.subarray(this.#at, end)));
    this.#at = end;
    this.#state = 'between';
    return true;
  }

  /** The index behind the object that begins at `#at`; undefined until it has arrived. */
  #endOfItem(): number | undefined {
    const buffer = this.#buffer;
    const end = this.#end;
    let at = this.#seen;
    let depth = this.#depth;
    let inString = this.#inString;
    while (at < end) {
      const byte = buffer[at] as number;
      if (inString) {
        // The byte behind it may not have arrived.
        if (byte === backslash && at + 1 === end) break;
        if (byte === backslash) at++;
        else if (byte === quote) inString = false;
      } else if (byte === quote) inString = true;
      else if (byte === openBrace || byte === openBracket) depth++;
      else if ((byte === closeBrace || byte === closeBracket) && --depth <= 0) {
        this.#depth = 0;
        this.#inString = false;
        return at + 1;
      }
      at++;
    }
    this.#seen = at;
    this.#depth = depth;
    this.#inString = inString;
    return undefined;
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether it ends with the member of that name of the list itself. */
function isHead(text: string): boolean {
  try {
    const list: unknown = parseJSONText(`${text}]}`);
    return typeof list === 'object' && list !== null && Array.isArray((list as { items?: unknown }).items);
  } catch {
    // It is the member of something else, or no JSON at all.
    return false;
  }
}

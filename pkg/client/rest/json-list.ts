/**
 * Reads lists in JSON while they arrive: each item is read when its last byte is there, so that a list of any size needs no
 * more memory than what is kept of its objects, and other work goes on in between.
 *
 * Only as much of the text is looked at as it takes to find the items; a list that is laid out in an odd way is read at
 * its end, as a whole.
 */
import { closeBracket, comma, JSONCursor, openBrace } from '#apimachinery/codec/json/cursor.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { jsonIn, parseJson } from '#client/rest/response.js';
import { TransportError } from '#http/client/transport-error.js';

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
  /** Over what has arrived; up to it, all has been looked at. */
  readonly #cursor = new JSONCursor(Buffer.allocUnsafe(0));
  /** What is not read yet begins here. */
  #at = 0;
  #state: 'head' | 'first' | 'item' | 'between' | 'comma' | 'tail' | 'whole' = 'head';
  /** The text before the items. */
  #head = '';

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
    const rest = this.#cursor.bytes.subarray(this.#at, this.#cursor.end);
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
    const cursor = this.#cursor;
    const { bytes, end } = cursor;
    const pending = end - this.#at;
    if (end + chunk.length <= bytes.length) {
      cursor.end += chunk.copy(bytes, end);
      return;
    }
    if (pending + chunk.length > bytes.length) {
      cursor.bytes = Buffer.allocUnsafeSlow(Math.max(initialBytes, 2 * (pending + chunk.length)));
      bytes.copy(cursor.bytes, 0, this.#at, end);
    } else bytes.copyWithin(0, this.#at, end);
    cursor.at -= this.#at;
    this.#at = 0;
    cursor.end = pending + chunk.copy(cursor.bytes, pending);
  }

  #readHead(): void {
    const { bytes, end } = this.#cursor;
    const text = bytes.subarray(0, end);
    const at = text.indexOf(opening);
    if (at < 0 || at > maxHeadBytes) {
      if (end > maxHeadBytes + opening.length) this.#state = 'whole';
      return;
    }
    const start = at + opening.length;
    const head = text.toString('utf8', 0, start);
    if (!isHead(head)) {
      this.#state = 'whole';
      return;
    }
    this.#head = head;
    this.#goOn(start, 'first');
  }

  #goOn(at: number, state: 'first' | 'between' | 'comma'): void {
    this.#at = at;
    this.#cursor.seek(at);
    this.#state = state;
  }

  /** False when more has to arrive. */
  #readNext(): boolean {
    if (this.#state === 'item') return this.#readItem();
    const byte = this.#cursor.next();
    this.#at = this.#cursor.at;
    if (byte < 0) return false;
    if (byte === closeBracket && this.#state !== 'comma') this.#state = 'tail';
    else if (byte === comma && this.#state === 'between') this.#goOn(this.#at + 1, 'comma');
    else if (byte === openBrace && this.#state !== 'between') this.#state = 'item';
    else throw new TransportError('Protocol', 'the answer is not a list of objects');
    return true;
  }

  #readItem(): boolean {
    const cursor = this.#cursor;
    if (!cursor.skip()) {
      const arrived = cursor.end - this.#at;
      if (arrived <= maxItemBytes) return false;
      throw new TransportError('Protocol', `an item of ${arrived} bytes is too large`);
    }
    this.#items.push(this.#read(cursor.bytes.subarray(this.#at, cursor.at)));
    this.#goOn(cursor.at, 'between');
    return true;
  }
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

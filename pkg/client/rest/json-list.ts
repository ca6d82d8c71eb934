/**
 * Parses JSON lists as they arrive: each item is parsed as soon as it is complete, so that a list of any size needs memory
 * only for its result, and other work can run in between.
 *
 * Scans only as much text as it takes to find the items; lists with an unusual layout are parsed as a whole at the end.
 */
import { closeBracket, comma, JSONCursor, openBrace } from '#apimachinery/codec/json/cursor.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { jsonIn, parseJson } from '#client/rest/response.js';
import { TransportError } from '#http/client/transport-error.js';

/** The start of the items as compact JSON; indented lists have blanks in it. */
const opening = Buffer.from('"items":[');
/** Limit of the text before the items: the list's own metadata is small. */
const maxHeadBytes = 16 * 1024;
/** A longer item is not an API object. */
const maxItemBytes = 64 * 1024 * 1024;
/** Initial buffer size: items are rarely larger, and several arrive at a time. */
const initialBytes = 64 * 1024;

export class JsonListReader {
  readonly #read: (item: Buffer) => unknown;
  readonly #items: unknown[] = [];
  /** The received bytes; everything up to the cursor has been scanned. */
  readonly #cursor = new JSONCursor(Buffer.allocUnsafe(0));
  /** Start of the unparsed bytes. */
  #at = 0;
  #state: 'head' | 'first' | 'item' | 'between' | 'comma' | 'tail' | 'whole' = 'head';
  /** The text before the items. */
  #head = '';

  /** Calls `read` with each object; the bytes are reused afterwards. Its result goes into the list. */
  constructor(read: (item: Buffer) => unknown) {
    this.#read = read;
  }

  /** Throws TransportError; the reader is unusable afterwards. */
  push(chunk: Buffer): void {
    this.#append(chunk);
    if (this.#state === 'head') this.#readHead();
    while (this.#state !== 'head' && this.#state !== 'tail' && this.#state !== 'whole') if (!this.#readNext()) return;
  }

  /** Returns the list. Throws TransportError if it is incomplete. */
  finish(): unknown {
    const remaining = this.#cursor.bytes.subarray(this.#at, this.#cursor.end);
    if (this.#state === 'head' || this.#state === 'whole') return this.#whole(parseJson(remaining));
    if (this.#state !== 'tail') throw new TransportError('Protocol', 'the list has no end');
    const list = jsonIn(this.#head + remaining.toString()) as { items?: unknown };
    // The last of duplicate members counts.
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

  /** Reuses the buffer as long as its content is parsed in between. */
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
    this.#advance(start, 'first');
  }

  #advance(at: number, state: 'first' | 'between' | 'comma'): void {
    this.#at = at;
    this.#cursor.seek(at);
    this.#state = state;
  }

  /** Parses the next token; false if more bytes are needed. */
  #readNext(): boolean {
    if (this.#state === 'item') return this.#readItem();
    const byte = this.#cursor.next();
    this.#at = this.#cursor.at;
    if (byte < 0) return false;
    if (byte === closeBracket && this.#state !== 'comma') this.#state = 'tail';
    else if (byte === comma && this.#state === 'between') this.#advance(this.#at + 1, 'comma');
    else if (byte === openBrace && this.#state !== 'between') this.#state = 'item';
    else throw new TransportError('Protocol', 'the response is not a list of objects');
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
    this.#advance(cursor.at, 'between');
    return true;
  }
}

/** Whether the text ends at the `items` member of the list itself. */
function isHead(text: string): boolean {
  try {
    const list: unknown = parseJSONText(`${text}]}`);
    return typeof list === 'object' && list !== null && Array.isArray((list as { items?: unknown }).items);
  } catch {
    // It is a member of another object, or not JSON.
    return false;
  }
}

/** SPDY header blocks: one zlib stream per direction, flushed after each block. */

import { constants, createInflate, type Inflate } from 'node:zlib';
import { SpdyProtocolError, uint32s } from '#daemon/streaming/spdy/frames.js';

/** Words that the dictionary stores with a 32-bit length in front. */
const words =
  `options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age
allow authorization cache-control connection content-base content-encoding content-language content-length
content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since
if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate
proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning
www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin`
    .split(/\s+/)
    .map((word) => word.replace('_', ' '));

/** Status codes and values that follow without a length. */
const tail = [
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505',
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized',
  '403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable',
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT',
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,',
  'publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.',
].join('');

/** The dictionary of header compression (SPDY/3 draft, section 2.6.10.1): 1423 bytes with Adler-32 `e3c6a7c2`. */
export const spdyDictionary: Buffer = Buffer.concat([
  ...words.map((word) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(word.length);
    return Buffer.concat([length, Buffer.from(word)]);
  }),
  Buffer.from(tail),
]);

/** Start of a zlib stream with this dictionary: the header with FDICT set, and the checksum. */
const zlibHeader: Buffer = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);

/** Lower-case name → value. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** An empty deflate block, which makes readers emit what they have. */
const flush = Buffer.from([0, 0, 0, 0xff, 0xff]);
/** Limit of an inflated block; regular peers of these protocols stay far below. */
const maxBlockBytes = 64 * 1024;
const maxHeaders = 100;

function plainBlock(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  const parts = [uint32s(entries.length)];
  for (const [name, value] of entries) {
    for (const text of [name.toLowerCase(), value]) {
      const bytes = Buffer.from(text);
      parts.push(uint32s(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

/**
 * Writes headers as stored (uncompressed) deflate blocks, which every reader accepts and which need no compression
 * state. Headers here are a few dozen bytes per stream.
 */
export class HeaderWriter {
  #started = false;

  encode(headers: SpdyHeaders): Buffer {
    const plain = plainBlock(headers);
    if (plain.length > 0xffff) throw new RangeError('header block exceeds 65535 bytes');
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(plain.length, 1);
    stored.writeUInt16LE(plain.length ^ 0xffff, 3);
    const start = this.#started ? [] : [zlibHeader];
    this.#started = true;
    return Buffer.concat([...start, stored, plain, flush]);
  }
}

/**
 * Reads blocks; calls must not overlap. `decode` rejects with SpdyProtocolError if a block does not inflate, which ends
 * the stream, and resolves with undefined for an invalid header list.
 */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary: spdyDictionary, finishFlush: constants.Z_SYNC_FLUSH });
  #parts: Buffer[] = [];
  #length = 0;
  #failure: Error | undefined;
  /** Ends the current call of `decode`. */
  #settle: (() => void) | undefined;

  constructor() {
    this.#inflate.on('error', (error) => this.#fail(error));
    // zlib drops its callback on close, so end the call here.
    this.#inflate.on('close', () => this.#fail(new Error('the reader is closed')));
    // The compressed stream has ended; a later block is invalid.
    this.#inflate.on('end', () => this.#fail(new Error('the compressed stream has ended')));
    this.#inflate.on('data', (part: Buffer) => {
      this.#length += part.length;
      if (this.#length <= maxBlockBytes) this.#parts.push(part);
      else if (this.#failure === undefined) {
        this.#fail(new Error('header block is too large'));
        this.#inflate.destroy();
      }
    });
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#settle?.();
  }

  async decode(block: Buffer): Promise<SpdyHeaders | undefined> {
    if (this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#settle = resolve;
        this.#inflate.write(block);
        this.#inflate.flush(constants.Z_SYNC_FLUSH, () => resolve());
      });
    }
    this.#settle = undefined;
    if (this.#failure !== undefined) {
      throw new SpdyProtocolError(`header block: ${this.#failure.message}`, { cause: this.#failure });
    }
    const plain = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#length = 0;
    return parseBlock(plain);
  }

  close(): void {
    this.#inflate.destroy();
  }
}

/** Undefined if lengths are wrong, or if a name is empty, not in lower case or duplicate. */
function parseBlock(block: Buffer): SpdyHeaders | undefined {
  const headers: Record<string, string> = Object.create(null);
  let offset = 4;
  const text = (): string | undefined => {
    if (offset + 4 > block.length) return undefined;
    const end = offset + 4 + block.readUInt32BE(offset);
    if (end > block.length) return undefined;
    const value = block.toString('utf8', offset + 4, end);
    offset = end;
    return value;
  };
  if (block.length < 4) return undefined;
  const count = block.readUInt32BE(0);
  if (count > maxHeaders) return undefined;
  for (let i = 0; i < count; i++) {
    const name = text();
    const value = text();
    if (name === undefined || value === undefined) return undefined;
    if (name === '' || name !== name.toLowerCase() || name in headers) return undefined;
    headers[name] = value;
  }
  return offset === block.length ? headers : undefined;
}

/** Header blocks: one zlib stream per direction and connection, a flush after each block. */
import { constants, createInflate, type Inflate } from 'node:zlib';
import { spdyDictionary, zlibHeader } from '#daemon/streaming/spdy/dictionary.js';
import { SpdyProtocolError, uint32s } from '#daemon/streaming/spdy/frames.js';

/** Lower-case name → value. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** The empty block of a flush: readers hand out what they have only when they meet it. */
const flush = Buffer.from([0, 0, 0, 0xff, 0xff]);
/** Bounds of a block after inflation; what is larger comes from no honest peer of the protocols served here. */
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
 * Writes blocks as stored (uncompressed) deflate blocks: valid for every reader, needs no state beyond the stream's
 * start, and nothing to wait for. Headers here are a few dozen bytes once per stream.
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
 * Reads blocks; calls must not overlap. `decode` rejects with SpdyProtocolError for a block that does not inflate, after
 * which no other can be read, and resolves with undefined for one that inflates to no valid list of headers.
 */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary: spdyDictionary, finishFlush: constants.Z_SYNC_FLUSH });
  #parts: Buffer[] = [];
  #length = 0;
  #failure: Error | undefined;
  /** Ends the call of `decode` under way. */
  #settle: (() => void) | undefined;

  constructor() {
    this.#inflate.on('error', (error) => this.#fail(error));
    // Whoever closes the reader ends the call too: the library drops its callback then.
    this.#inflate.on('close', () => this.#fail(new Error('the reader is closed')));
    // The end of the compressed stream: a block that comes after it is none.
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

/** Undefined for a block whose lengths are wrong, or whose names are empty, not in lower case, or there twice. */
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

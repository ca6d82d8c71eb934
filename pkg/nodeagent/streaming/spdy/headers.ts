/** Header blocks: one zlib stream per direction and connection, a flush after each block. */
import { constants, createInflate, type Inflate } from 'node:zlib';
import { spdyDictionary, zlibHeader } from '#nodeagent/streaming/spdy/dictionary.js';

/** Lower-case name → value. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** The empty block of a flush: readers hand out what they have only when they meet it. */
const flush = Buffer.from([0, 0, 0, 0xff, 0xff]);
/** Larger blocks come from no honest peer of the protocols served here. */
const maxBlockBytes = 64 * 1024;

function plainBlock(headers: SpdyHeaders): Buffer {
  const parts: Buffer[] = [];
  const uint32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    parts.push(bytes);
  };
  const entries = Object.entries(headers);
  uint32(entries.length);
  for (const [name, value] of entries) {
    for (const text of [name.toLowerCase(), value]) {
      const bytes = Buffer.from(text);
      uint32(bytes.length);
      parts.push(bytes);
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

/** Reads blocks; calls must not overlap. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary: spdyDictionary, finishFlush: constants.Z_SYNC_FLUSH });
  #failure: Error | undefined;

  constructor() {
    this.#inflate.on('error', (error) => {
      this.#failure = error;
    });
  }

  /** Rejects for a block that does not inflate or whose lengths are wrong. */
  async decode(block: Buffer): Promise<SpdyHeaders> {
    if (block.length > maxBlockBytes) throw new RangeError('header block is too large');
    await new Promise<void>((resolve, reject) => {
      const fail = (error: Error) => reject(error);
      this.#inflate.once('error', fail);
      this.#inflate.write(block);
      this.#inflate.flush(constants.Z_SYNC_FLUSH, () => {
        this.#inflate.off('error', fail);
        resolve();
      });
    });
    if (this.#failure !== undefined) throw this.#failure;
    const chunks: Buffer[] = [];
    for (let chunk = this.#inflate.read() as Buffer | null; chunk !== null; chunk = this.#inflate.read()) {
      chunks.push(chunk);
    }
    return parseBlock(Buffer.concat(chunks));
  }

  close(): void {
    this.#inflate.close();
  }
}

function parseBlock(block: Buffer): SpdyHeaders {
  const headers: Record<string, string> = Object.create(null);
  let offset = 4;
  const text = (): string => {
    const length = block.readUInt32BE(offset);
    const end = offset + 4 + length;
    if (end > block.length) throw new RangeError('header block ends early');
    const value = block.toString('utf8', offset + 4, end);
    offset = end;
    return value;
  };
  const count = block.readUInt32BE(0);
  for (let i = 0; i < count; i++) {
    const name = text();
    headers[name.toLowerCase()] = text();
  }
  return headers;
}

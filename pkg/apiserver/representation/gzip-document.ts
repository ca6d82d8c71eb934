/**
 * Bytes that are kept compressed, and put together in any order without being compressed again: each is a row of deflate's
 * blocks that ends at a byte and is not the last one (RFC 1951), so that several in a row are one stream of gzip (RFC 1952).
 */

import { promisify } from 'node:util';
import { constants, crc32, deflateRaw, inflateRaw } from 'node:zlib';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { combineCrc32 } from '#apiserver/representation/crc32-combine.js';
import { acceptsGzip } from '#apiserver/representation/respond.js';
import { IterableBody, PartsBody } from '#http/server/body.js';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
const level = 6;

export interface Packed {
  readonly blocks: Buffer;
  /** Of what is in them. */
  readonly length: number;
  readonly crc: number;
}

/** Compresses them, beside this thread. */
export async function pack(parts: readonly Buffer[]): Promise<Packed> {
  const bytes = Buffer.concat(parts);
  const blocks = await deflate(bytes, { level, finishFlush: constants.Z_SYNC_FLUSH });
  // Of its own size: zlib's is a part of something larger.
  const own = Buffer.allocUnsafeSlow(blocks.length);
  own.set(blocks);
  return { blocks: own, length: bytes.length, crc: crc32(bytes) };
}

/** Packs what is not worth compressing: one block of its own. At most 65,535 bytes. */
export function wrap(bytes: Buffer): Packed {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(bytes.length ^ 0xffff, 3);
  return { blocks: Buffer.concat([head, bytes]), length: bytes.length, crc: crc32(bytes) };
}

export async function unpack({ blocks }: Packed): Promise<Buffer> {
  return inflate(blocks, { finishFlush: constants.Z_SYNC_FLUSH });
}

/** No name, no time, no system. */
const gzipHead = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** The last block, which is empty. */
const lastBlock = Buffer.from([3, 0]);

/** Checksums that are put together between two looks at the time. */
const partsOfStep = 64;

/** What several are in one. */
export class PackedRow {
  readonly parts: readonly Packed[];
  /** Of what is in them. */
  readonly length: number;
  readonly #crc: number;

  private constructor(parts: readonly Packed[], length: number, crc: number) {
    this.parts = parts;
    this.length = length;
    this.#crc = crc;
  }

  /** In turns, since there may be thousands. */
  static async of(parts: readonly Packed[], turns: Pick<TurnQueue, 'pause'>): Promise<PackedRow> {
    let crc = 0;
    let length = 0;
    for (const [i, part] of parts.entries()) {
      if (i % partsOfStep === 0) await turns.pause();
      crc = combineCrc32(crc, part.crc, part.length);
      length += part.length;
    }
    return new PackedRow(parts, length, crc);
  }

  *gzip(): Generator<Buffer, void, void> {
    yield gzipHead;
    for (const { blocks } of this.parts) yield blocks;
    const tail = Buffer.alloc(8);
    tail.writeUInt32LE(this.#crc, 0);
    tail.writeUInt32LE(this.length % 2 ** 32, 4);
    yield lastBlock;
    yield tail;
  }

  get gzipLength(): number {
    let length = gzipHead.length + lastBlock.length + 8;
    for (const { blocks } of this.parts) length += blocks.length;
    return length;
  }

  async *plain(): AsyncGenerator<Buffer, void, void> {
    for (const part of this.parts) yield await unpack(part);
  }
}

/** Documents that are kept compressed, as answers. */

/** Larger ones are sent in parts. */
const wholeBytes = 128 * 1024;
/** Memory that taking a part out takes. */
const heldBytes = 256 * 1024;

/** Shorter ones than `minGzipBytes` are sent as they are. */
export async function packedAnswer(
  context: Pick<RequestContext, 'request'>,
  row: PackedRow,
  headers: Record<string, string>,
  minGzipBytes: number,
): Promise<ApiResponse> {
  const gzip = row.length >= minGzipBytes && acceptsGzip(context.request);
  if (gzip) {
    const packed = { ...headers, 'content-encoding': 'gzip' };
    const { gzipLength: length } = row;
    if (length <= wholeBytes) return { status: 200, headers: packed, body: Buffer.concat([...row.gzip()], length) };
    return { status: 200, headers: packed, body: new PartsBody(row.gzip(), { length }) };
  }
  if (row.length > wholeBytes) {
    return { status: 200, headers, body: new IterableBody(row.plain(), { length: row.length, held: heldBytes }) };
  }
  const parts: Buffer[] = [];
  for await (const part of row.plain()) parts.push(part);
  return { status: 200, headers, body: Buffer.concat(parts) };
}

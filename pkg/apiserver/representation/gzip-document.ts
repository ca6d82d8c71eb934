/**
 * Documents kept compressed in parts that can be joined in any order without recompression: each part is a series of deflate
 * blocks that ends at a byte boundary and is not final (RFC 1951), so several make one gzip stream (RFC 1952).
 */

import { promisify } from 'node:util';
import { constants, crc32, deflateRaw, inflateRaw } from 'node:zlib';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { combineCrc32, gzipHead, gzipTail, gzipTailBytes } from '#apiserver/representation/gzip-member.js';
import { acceptsGzip } from '#apiserver/representation/respond.js';
import { IterableBody, PartsBody } from '#http/server/body.js';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
const level = 6;

export interface DeflatedPart {
  readonly blocks: Buffer;
  /** Length of the uncompressed bytes. */
  readonly length: number;
  readonly crc: number;
}

/** Compresses on another thread. */
export async function deflatePart(parts: readonly Buffer[]): Promise<DeflatedPart> {
  const bytes = Buffer.concat(parts);
  const blocks = await deflate(bytes, { level, finishFlush: constants.Z_SYNC_FLUSH });
  // Copy into a buffer of exact size: zlib returns a slice of a larger one.
  const copy = Buffer.allocUnsafeSlow(blocks.length);
  copy.set(blocks);
  return { blocks: copy, length: bytes.length, crc: crc32(bytes) };
}

/** A part too small to compress, as one stored block of at most 65,535 bytes. */
export function storePart(bytes: Buffer): DeflatedPart {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(bytes.length ^ 0xffff, 3);
  return { blocks: Buffer.concat([head, bytes]), length: bytes.length, crc: crc32(bytes) };
}

export async function inflatePart({ blocks }: DeflatedPart): Promise<Buffer> {
  return inflate(blocks, { finishFlush: constants.Z_SYNC_FLUSH });
}

/** Number of checksums combined between two pauses. */
const partsOfStep = 64;

/** Several parts as one document. */
export class GzipDocument {
  readonly parts: readonly DeflatedPart[];
  /** Length of the uncompressed bytes. */
  readonly length: number;
  readonly #crc: number;

  private constructor(parts: readonly DeflatedPart[], length: number, crc: number) {
    this.parts = parts;
    this.length = length;
    this.#crc = crc;
  }

  /** Pauses between steps, since there may be thousands of parts. */
  static async of(parts: readonly DeflatedPart[], turns: Pick<TurnQueue, 'pause'>): Promise<GzipDocument> {
    let crc = 0;
    let length = 0;
    for (const [i, part] of parts.entries()) {
      if (i % partsOfStep === 0) await turns.pause();
      crc = combineCrc32(crc, part.crc, part.length);
      length += part.length;
    }
    return new GzipDocument(parts, length, crc);
  }

  *gzip(): Generator<Buffer, void, void> {
    yield gzipHead;
    for (const { blocks } of this.parts) yield blocks;
    yield gzipTail(this.#crc, this.length);
  }

  get gzipLength(): number {
    let length = gzipHead.length + gzipTailBytes;
    for (const { blocks } of this.parts) length += blocks.length;
    return length;
  }

  async *plain(): AsyncGenerator<Buffer, void, void> {
    for (const part of this.parts) yield await inflatePart(part);
  }
}

/** Larger documents are sent in parts. */
const wholeBytes = 128 * 1024;
/** Memory for inflating a part. */
const heldBytes = 256 * 1024;

/** Documents shorter than `minGzipBytes` are sent uncompressed. */
export async function gzipDocumentResponse(
  context: Pick<RequestContext, 'request'>,
  row: GzipDocument,
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

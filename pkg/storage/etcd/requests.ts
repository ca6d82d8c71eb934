/** Encodes the requests of etcd's v3 API that this project uses. Field numbers: rpc.proto of etcd 3.4. */
import type { Guard, Revision } from '#storage/store.js';

const varint = 0;
const delimited = 2;

/**
 * The part of the Protobuf wire format that the requests need. Written by hand because protobufjs is 2.5 times slower:
 * 6.8 µs instead of 2.7 for each write.
 */
export class WireWriter {
  /** Numbers become varints, bytes stay, writers become their content. */
  readonly #parts: (number | bigint | Buffer | WireWriter)[] = [];
  #length = 0;

  /** An int64 or enum; zero is the default and omitted. */
  int(field: number, value: bigint | number): this {
    if (value === 0 || value === 0n) return this;
    this.#number((field << 3) | varint);
    this.#number(value);
    return this;
  }

  bool(field: number, value: boolean): this {
    return this.int(field, value ? 1 : 0);
  }

  /** Bytes or a string; an empty one is the default and omitted. */
  bytes(field: number, value: Buffer | string): this {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    return bytes.length === 0 ? this : this.message(field, bytes);
  }

  /** An embedded message, even if empty. Its content is copied only once, at the end. */
  message(field: number, content: Buffer | WireWriter): this {
    const length = content instanceof WireWriter ? content.#length : content.length;
    this.#number((field << 3) | delimited);
    this.#number(length);
    this.#parts.push(content);
    this.#length += length;
    return this;
  }

  /** Length of everything written; bytes. */
  get length(): number {
    return this.#length;
  }

  /** Writes everything to `target`, like `Buffer.copy`, and returns its length. */
  copy(target: Buffer, from: number): number {
    return this.#write(target, from) - from;
  }

  finish(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#length);
    this.#write(bytes, 0);
    return bytes;
  }

  #number(value: number | bigint): void {
    const small = Number(value);
    const exact = small >= 0 && small <= maxShifted ? small : BigInt.asUintN(64, BigInt(value));
    this.#parts.push(exact);
    this.#length += varintLength(exact);
  }

  /** Returns the end. */
  #write(target: Buffer, from: number): number {
    let at = from;
    for (const part of this.#parts) {
      if (typeof part === 'number') at = writeVarint(target, at, part);
      else if (typeof part === 'bigint') at = writeLongVarint(target, at, part);
      else if (part instanceof WireWriter) at = part.#write(target, at);
      else at += part.copy(target, at);
    }
    return at;
  }
}

/** Limit of numbers that are written without BigInt: bit shifts have 32 bits including the sign. */
const maxShifted = 2 ** 31 - 1;

function varintLength(value: number | bigint): number {
  if (typeof value === 'bigint') {
    let length = 1;
    for (let rest = value >> 7n; rest > 0n; rest >>= 7n) length++;
    return length;
  }
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  return value < 0x1000_0000 ? 4 : 5;
}

function writeVarint(target: Buffer, from: number, value: number): number {
  let at = from;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) target[at++] = (rest & 0x7f) | 0x80;
  target[at++] = rest;
  return at;
}

function writeLongVarint(target: Buffer, from: number, value: bigint): number {
  let at = from;
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) target[at++] = Number(rest & 0x7fn) | 0x80;
  target[at++] = Number(rest);
  return at;
}

export interface EtcdRange {
  /** A key, possibly already encoded. */
  readonly start: string | Buffer;
  /** Absent: only the key `start`. */
  readonly end?: string;
  readonly limit?: number;
  readonly revision?: Revision;
  readonly keysOnly?: boolean;
}

export function rangeRequest(range: EtcdRange): Buffer {
  return rangeMessage(range).finish();
}

function rangeMessage(range: EtcdRange): WireWriter {
  return new WireWriter()
    .bytes(1, range.start)
    .bytes(2, isOneKey(range) ? '' : (range.end ?? ''))
    .int(3, range.limit ?? 0)
    .int(4, range.revision ?? 0n)
    .bool(8, range.keysOnly ?? false);
}

/** kine takes the end of a range for a prefix, so that one key must have none. */
function isOneKey({ start, end }: EtcdRange): boolean {
  return end?.length === start.length + 1 && end.endsWith('\0') && end.startsWith(String(start));
}

/** The write of a transaction whose condition holds. */
export type EtcdWrite =
  | { readonly type: 'put'; readonly value: Buffer; readonly lease?: bigint; readonly keepLease?: boolean }
  | { readonly type: 'delete' };

export interface ConditionalWrite {
  readonly key: string;
  /** 0: absent key. */
  readonly expected: Revision;
  readonly write: EtcdWrite;
  readonly guards?: readonly Guard[] | undefined;
}

/**
 * If the mod revisions of the key and the guards are as expected, does `write` and puts the guards' values; otherwise
 * reads the key and the guards' revisions. Encoded later, so that the value is copied only once.
 */
export function conditionalWriteRequest({ key, expected, write, guards = [] }: ConditionalWrite): WireWriter {
  const name = Buffer.from(key);
  const request = new WireWriter().message(1, isAt(name, expected));
  for (const guard of guards) request.message(1, isAt(guard.key, guard.modRevision));
  request.message(2, requestOp(name, write));
  for (const guard of guards) {
    if (guard.value !== undefined) {
      request.message(2, requestOp(Buffer.from(guard.key), { type: 'put', value: guard.value, keepLease: true }));
    }
  }
  request.message(3, readOp({ start: name }));
  for (const guard of guards) request.message(3, readOp({ start: guard.key, keysOnly: true }));
  return request;
}

function isAt(key: Buffer | string, revision: Revision): WireWriter {
  const compareMod = 2;
  // Revision 0 is omitted, which etcd reads as 0: absent key.
  return new WireWriter().int(2, compareMod).bytes(3, key).int(6, revision);
}

function readOp(range: EtcdRange): WireWriter {
  return new WireWriter().message(1, rangeMessage(range));
}

function requestOp(key: Buffer, write: EtcdWrite): WireWriter {
  if (write.type === 'delete') {
    return new WireWriter().message(3, new WireWriter().bytes(1, key));
  }
  const put = new WireWriter()
    .bytes(1, key)
    .bytes(2, write.value)
    .int(3, write.lease ?? 0n)
    .bool(6, write.keepLease ?? false);
  return new WireWriter().message(2, put);
}

export function compactionRequest(revision: Revision): Buffer {
  return new WireWriter().int(1, revision).finish();
}

export function leaseGrantRequest(ttlSeconds: number): Buffer {
  return new WireWriter().int(1, ttlSeconds).finish();
}

export function leaseRevokeRequest(id: bigint): Buffer {
  return new WireWriter().int(1, id).finish();
}

export function leaseKeepAliveRequest(id: bigint): Buffer {
  return new WireWriter().int(1, id).finish();
}

/** Opens a watch with periodic progress notifications and fragmented large responses. */
export function watchCreateRequest(watch: {
  readonly start: string;
  readonly end: string;
  readonly fromRevision: Revision;
  /** Events contain the previous pair. */
  readonly previous: boolean;
}): Buffer {
  const create = new WireWriter()
    .bytes(1, watch.start)
    .bytes(2, watch.end)
    .int(3, watch.fromRevision)
    .bool(4, true)
    .bool(6, watch.previous)
    .bool(8, true);
  return new WireWriter().message(1, create.finish()).finish();
}

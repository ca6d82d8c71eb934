/** etcd's v3 messages that this project uses, to and from bytes. Field numbers are those of etcd 3.4's rpc.proto. */
import type { KnownLeader } from '#storage/etcd/overtaken-writes.js';
import { type WireReader, WireWriter } from '#storage/etcd/wire.js';
import type { Guard, KeyValue, Revision } from '#storage/store.js';

export interface EtcdKeyValue extends KeyValue {
  readonly createRevision: Revision;
  /** The etcd lease whose end removes the key; 0: none. */
  readonly lease: bigint;
}

export interface EtcdRange {
  /** A key, maybe as the bytes it is written as. */
  readonly start: string | Buffer;
  /** Absent: the one key `start`. */
  readonly end?: string;
  readonly limit?: number;
  readonly revision?: Revision;
  readonly keysOnly?: boolean;
}

export interface EtcdRangeResponse {
  readonly revision: Revision;
  readonly kvs: EtcdKeyValue[];
  readonly count: number;
}

export function rangeRequest(range: EtcdRange): Buffer {
  return rangeMessage(range).finish();
}

function rangeMessage(range: EtcdRange): WireWriter {
  return new WireWriter()
    .bytes(1, range.start)
    .bytes(2, range.end ?? '')
    .int(3, range.limit ?? 0)
    .int(4, range.revision ?? 0n)
    .bool(8, range.keysOnly ?? false);
}

export function readRangeResponse(reader: WireReader): EtcdRangeResponse {
  const kvs: EtcdKeyValue[] = [];
  let revision = 0n;
  let count = 0;
  while (reader.next()) {
    if (reader.field === 1) revision = readHeader(reader.message());
    else if (reader.field === 2) kvs.push(readKeyValue(reader.message()));
    else if (reader.field === 4) count = reader.number();
  }
  return { revision, kvs, count };
}

function readHeader(reader: WireReader): Revision {
  let revision = 0n;
  while (reader.next()) if (reader.field === 3) revision = reader.int64();
  return revision;
}

/** The term of the leader at the time of any response. */
export function readTerm(reader: WireReader): number {
  while (reader.next()) if (reader.field === 1) return readHeaderTerm(reader.message());
  return 0;
}

function readHeaderTerm(reader: WireReader): number {
  while (reader.next()) if (reader.field === 4) return Number(reader.int64());
  return 0;
}

/** Of a member's status: the term it is in, and whether it has a leader. */
export function readLeader(reader: WireReader): KnownLeader {
  let term = 0;
  let isThere = false;
  while (reader.next()) {
    if (reader.field === 4) isThere = reader.int64() !== 0n;
    else if (reader.field === 6) term = Number(reader.int64());
  }
  return { term, isThere };
}

const noValue = Buffer.alloc(0);

function readKeyValue(reader: WireReader): EtcdKeyValue {
  let key = '';
  let createRevision = 0n;
  let modRevision = 0n;
  let value: Buffer = noValue;
  let lease = 0n;
  while (reader.next()) {
    if (reader.field === 1) key = reader.string();
    else if (reader.field === 2) createRevision = reader.int64();
    else if (reader.field === 3) modRevision = reader.int64();
    else if (reader.field === 5) value = reader.bytes();
    else if (reader.field === 6) lease = reader.int64();
  }
  return { key, value, modRevision, createRevision, lease };
}

/** What a conditional write does when its condition holds. */
export type EtcdWrite =
  | { readonly type: 'put'; readonly value: Buffer; readonly lease?: bigint; readonly keepLease?: boolean }
  | { readonly type: 'delete' };

export interface ConditionalWrite {
  readonly key: string;
  /** 0: there is no such key. */
  readonly expected: Revision;
  readonly write: EtcdWrite;
  readonly guards?: readonly Guard[] | undefined;
}

/**
 * If the key's mod revision is `expected`, and the guards' as well, do `write` and put what the guards have to be put; else
 * read the key, and whether the guards' are there and since when. Not put together yet: the value is copied once on its way.
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
  // A revision of 0 is left out, which etcd reads as 0: no such key.
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

export interface EtcdWriteResponse {
  readonly succeeded: boolean;
  readonly revision: Revision;
  /** The pair as it is, when the condition did not hold. */
  readonly current: EtcdKeyValue | undefined;
  /** The mod revisions of the guards' keys when the condition did not hold; 0 without such a key. */
  readonly guardRevisions: readonly Revision[];
}

export function readConditionalWriteResponse(reader: WireReader): EtcdWriteResponse {
  let succeeded = false;
  let revision = 0n;
  // In the order in which they were asked for: the key, the guards'.
  const reads: (EtcdKeyValue | undefined)[] = [];
  while (reader.next()) {
    if (reader.field === 1) revision = readHeader(reader.message());
    else if (reader.field === 2) succeeded = reader.bool();
    else if (reader.field === 3) {
      const op = reader.message();
      while (op.next()) if (op.field === 1) reads.push(readRangeResponse(op.message()).kvs[0]);
    }
  }
  const guardRevisions = reads.slice(1).map((kv) => kv?.modRevision ?? 0n);
  return { succeeded, revision, current: reads[0], guardRevisions };
}

/** An unconditional put. */
export function putRequest(key: string, value: Buffer): Buffer {
  return new WireWriter().bytes(1, key).bytes(2, value).finish();
}

/** The revision in any response: its header is field 1. */
export function readRevision(reader: WireReader): Revision {
  let revision = 0n;
  while (reader.next()) if (reader.field === 1) revision = readHeader(reader.message());
  return revision;
}

export function compactionRequest(revision: Revision): Buffer {
  return new WireWriter().int(1, revision).finish();
}

export function leaseGrantRequest(ttlSeconds: number): Buffer {
  return new WireWriter().int(1, ttlSeconds).finish();
}

export function readLeaseId(reader: WireReader): bigint {
  let id = 0n;
  while (reader.next()) if (reader.field === 2) id = reader.int64();
  return id;
}

export function leaseRevokeRequest(id: bigint): Buffer {
  return new WireWriter().int(1, id).finish();
}

export function leaseKeepAliveRequest(id: bigint): Buffer {
  return new WireWriter().int(1, id).finish();
}

/** Seconds that the lease lives from now on; 0 when there is no such lease any more. */
export function readKeepAlive(reader: WireReader): number {
  let ttlSeconds = 0;
  while (reader.next()) if (reader.field === 3) ttlSeconds = reader.number();
  return ttlSeconds;
}

/** Bytes of the database file, out of a status response. */
export function readDbSize(reader: WireReader): number {
  let size = 0;
  while (reader.next()) if (reader.field === 3) size = reader.number();
  return size;
}

/** Opens a watch with periodic progress notifications and large answers in fragments. */
export function watchCreateRequest(watch: {
  readonly start: string;
  readonly end: string;
  readonly fromRevision: Revision;
  /** Events carry the pair as it was before. */
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

export interface EtcdEvent {
  readonly deleted: boolean;
  readonly kv: EtcdKeyValue;
  readonly previous: EtcdKeyValue | undefined;
}

export interface EtcdWatchResponse {
  readonly revision: Revision;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: Revision;
  readonly cancelReason: string;
  /** More of the same answer follows. */
  readonly fragment: boolean;
  readonly events: EtcdEvent[];
}

export function readWatchResponse(reader: WireReader): EtcdWatchResponse {
  const events: EtcdEvent[] = [];
  let revision = 0n;
  let created = false;
  let canceled = false;
  let compactRevision = 0n;
  let cancelReason = '';
  let fragment = false;
  while (reader.next()) {
    if (reader.field === 1) revision = readHeader(reader.message());
    else if (reader.field === 3) created = reader.bool();
    else if (reader.field === 4) canceled = reader.bool();
    else if (reader.field === 5) compactRevision = reader.int64();
    else if (reader.field === 6) cancelReason = reader.string();
    else if (reader.field === 7) fragment = reader.bool();
    else if (reader.field === 11) events.push(readEvent(reader.message()));
  }
  return { revision, created, canceled, compactRevision, cancelReason, fragment, events };
}

function readEvent(reader: WireReader): EtcdEvent {
  let deleted = false;
  let kv: EtcdKeyValue = { key: '', value: noValue, modRevision: 0n, createRevision: 0n, lease: 0n };
  let previous: EtcdKeyValue | undefined;
  while (reader.next()) {
    if (reader.field === 1) deleted = reader.number() === 1;
    else if (reader.field === 2) kv = readKeyValue(reader.message());
    else if (reader.field === 3) previous = readKeyValue(reader.message());
  }
  return { deleted, kv, previous };
}

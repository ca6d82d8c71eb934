/** Decodes the requests of etcd's service KV. Field numbers: rpc.proto of etcd 3.5. */
import { WireError, type WireReader } from '#storage/etcd/answers.js';
import type { MemoryKeyValue } from '#storage/memory/memory-store.js';
import type { Revision } from '#storage/store.js';

const nothing = Buffer.alloc(0);

/** Bounds that are included; 0: none. */
interface Bounds {
  least: Revision;
  most: Revision;
}

export interface Range {
  readonly key: Buffer;
  readonly end: Buffer;
  /** 0: none. */
  readonly limit: number;
  /** 0: the newest. */
  readonly revision: Revision;
  /** Undefined: by key. */
  readonly order: ((a: MemoryKeyValue, b: MemoryKeyValue) => number) | undefined;
  readonly keysOnly: boolean;
  readonly countOnly: boolean;
  readonly modified: Readonly<Bounds>;
  readonly created: Readonly<Bounds>;
}

export interface Put {
  readonly key: Buffer;
  readonly value: Buffer;
  /** 0: none. */
  readonly lease: bigint;
  readonly tellsPrevious: boolean;
  readonly ignoresValue: boolean;
  readonly ignoresLease: boolean;
}

export interface Deletion {
  readonly key: Buffer;
  readonly end: Buffer;
  readonly tellsPrevious: boolean;
}

export type Operation =
  | { readonly type: 'range'; readonly range: Range }
  | { readonly type: 'put'; readonly put: Put }
  | { readonly type: 'delete'; readonly deletion: Deletion }
  | { readonly type: 'transaction'; readonly transaction: Transaction };

export interface Transaction {
  readonly comparisons: readonly Comparison[];
  readonly success: readonly Operation[];
  readonly failure: readonly Operation[];
}

export interface Comparison {
  readonly key: Buffer;
  readonly end: Buffer;
  /** Undefined for an absent key. */
  holds(kv: MemoryKeyValue | undefined, lease: bigint): boolean;
}

/** By the numbers of etcd's SortTarget. */
const sortKeys: readonly ((kv: MemoryKeyValue) => string | bigint | number)[] = [
  ({ key }) => key,
  ({ version }) => version,
  ({ createRevision }) => createRevision,
  ({ modRevision }) => modRevision,
  ({ value }) => value.toString('latin1'),
];

export function readRange(reader: WireReader): Range {
  const modified: Bounds = { least: 0n, most: 0n };
  const created: Bounds = { least: 0n, most: 0n };
  const range = { key: nothing as Buffer, end: nothing as Buffer, limit: 0, revision: 0n };
  const shown = { keysOnly: false, countOnly: false };
  const sorted = { order: 0, by: 0 };
  while (reader.next()) {
    if (reader.field === 1) range.key = reader.bytes();
    else if (reader.field === 2) range.end = reader.bytes();
    else if (reader.field === 3) range.limit = reader.number();
    else if (reader.field === 4) range.revision = reader.int64();
    else if (reader.field === 5) sorted.order = reader.number();
    else if (reader.field === 6) sorted.by = reader.number();
    else if (reader.field === 8) shown.keysOnly = reader.bool();
    else if (reader.field === 9) shown.countOnly = reader.bool();
    else if (reader.field === 10) modified.least = reader.int64();
    else if (reader.field === 11) modified.most = reader.int64();
    else if (reader.field === 12) created.least = reader.int64();
    else if (reader.field === 13) created.most = reader.int64();
  }
  return { ...range, ...shown, order: orderOf(sorted), modified, created };
}

/** etcd sorts in ascending order by anything but keys even where no order is requested. */
function orderOf({ order, by }: { readonly order: number; readonly by: number }): Range['order'] {
  if (order !== 2 && by === 0) return undefined;
  const of = sortKeys[by];
  if (of === undefined) throw new WireError(`unknown sort target ${by}`);
  const sign = order === 2 ? -1 : 1;
  return (a, b) => {
    const [first, second] = [of(a), of(b)];
    if (first === second) return 0;
    return first < second ? -sign : sign;
  };
}

export function readPut(reader: WireReader): Put {
  const put = { key: nothing as Buffer, value: nothing as Buffer, lease: 0n };
  const modes = { tellsPrevious: false, ignoresValue: false, ignoresLease: false };
  while (reader.next()) {
    if (reader.field === 1) put.key = reader.bytes();
    else if (reader.field === 2) put.value = reader.bytes();
    else if (reader.field === 3) put.lease = reader.int64();
    else if (reader.field === 4) modes.tellsPrevious = reader.bool();
    else if (reader.field === 5) modes.ignoresValue = reader.bool();
    else if (reader.field === 6) modes.ignoresLease = reader.bool();
  }
  return { ...put, ...modes };
}

export function readDeletion(reader: WireReader): Deletion {
  const deletion = { key: nothing as Buffer, end: nothing as Buffer, tellsPrevious: false };
  while (reader.next()) {
    if (reader.field === 1) deletion.key = reader.bytes();
    else if (reader.field === 2) deletion.end = reader.bytes();
    else if (reader.field === 3) deletion.tellsPrevious = reader.bool();
  }
  return deletion;
}

/** Throws a WireError for an empty one. */
export function readOperation(reader: WireReader, readTransaction: (reader: WireReader) => Transaction): Operation {
  while (reader.next()) {
    if (reader.field === 1) return { type: 'range', range: readRange(reader.message()) };
    if (reader.field === 2) return { type: 'put', put: readPut(reader.message()) };
    if (reader.field === 3) return { type: 'delete', deletion: readDeletion(reader.message()) };
    if (reader.field === 4) return { type: 'transaction', transaction: readTransaction(reader.message()) };
  }
  throw new WireError('an operation is empty');
}

/** By the numbers of etcd's CompareResult: equal, greater, less, not equal. */
const results: readonly ((order: number) => boolean)[] = [
  (order) => order === 0,
  (order) => order > 0,
  (order) => order < 0,
  (order) => order !== 0,
];

export function readComparison(reader: WireReader): Comparison {
  const range = { key: nothing as Buffer, end: nothing as Buffer };
  let result = 0;
  let target = 0;
  let number = 0n;
  let value: Buffer = nothing;
  while (reader.next()) {
    if (reader.field === 1) result = reader.number();
    else if (reader.field === 2) target = reader.number();
    else if (reader.field === 3) range.key = reader.bytes();
    else if (reader.field === 7) value = reader.bytes();
    else if (reader.field === 64) range.end = reader.bytes();
    else if ([4, 5, 6, 8].includes(reader.field)) number = reader.int64();
  }
  const is = results[result];
  if (is === undefined) throw new WireError(`unknown comparison ${result}`);
  if (target === 3) {
    // An absent key has no value, so that nothing holds of it.
    return { ...range, holds: (kv) => kv !== undefined && is(Buffer.compare(kv.value, value)) };
  }
  return { ...range, holds: (kv, lease) => is(compare(numberOf(target, kv, lease), number)) };
}

/** By the numbers of etcd's CompareTarget. */
function numberOf(target: number, kv: MemoryKeyValue | undefined, lease: bigint): bigint {
  if (target === 0) return BigInt(kv?.version ?? 0);
  if (target === 1) return kv?.createRevision ?? 0n;
  return target === 2 ? (kv?.modRevision ?? 0n) : lease;
}

function compare(a: bigint, b: bigint): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

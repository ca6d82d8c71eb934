/** The service KV of etcd's API over the store in memory. */
import type { WireReader } from '#storage/etcd/answers.js';
import { WireWriter } from '#storage/etcd/requests.js';
import type { MemoryKeyValue, MemoryStore, MemoryTransaction } from '#storage/memory/memory-store.js';
import { type Revision, StoreError } from '#storage/store.js';
import { answer, keyText, pair } from '#testcluster/etcd/answers.js';
import {
  compactedRevision,
  duplicateKey,
  emptyKey,
  futureRevision,
  keyNotFound,
  leaseProvided,
  tooManyOperations,
  valueProvided,
} from '#testcluster/etcd/errors.js';
import type { Leases } from '#testcluster/etcd/leases.js';
import {
  type Comparison,
  type Deletion,
  type Operation,
  type Put,
  type Range,
  readComparison,
  readDeletion,
  readOperation,
  readPut,
  readRange,
  type Transaction,
} from '#testcluster/etcd/requests.js';

/** Limit of the operations in a transaction; etcd's default of `--max-txn-ops`. */
const maxOperations = 128;

export interface KeySpan {
  readonly start: string;
  readonly end: string;
}

/** The keys of a request: one key, those up to an end, or (end `\0`) all from a key on. */
export function spanOf(key: Buffer, rangeEnd: Buffer): KeySpan {
  const start = keyText(key);
  if (rangeEnd.length === 0) return { start, end: `${start}\0` };
  // No byte has the code 256.
  if (rangeEnd.length === 1 && rangeEnd[0] === 0) return { start: start === '\0' ? '' : start, end: '\u0100' };
  return { start, end: keyText(rangeEnd) };
}

export class KeyValues {
  readonly #store: MemoryStore;
  readonly #leases: Leases;

  constructor(store: MemoryStore, leases: Leases) {
    this.#store = store;
    this.#leases = leases;
  }

  range(request: WireReader): WireWriter {
    return this.#range(readRange(request));
  }

  put(request: WireReader): WireWriter {
    const put = readPut(request);
    this.#checkPut(put);
    this.#checkState(put);
    return this.#store.transact((write) => this.#put(put, write));
  }

  deleteRange(request: WireReader): WireWriter {
    const deletion = readDeletion(request);
    if (deletion.key.length === 0) throw emptyKey();
    return this.#store.transact((write) => this.#delete(deletion, write));
  }

  transaction(request: WireReader): WireWriter {
    const transaction = readTransaction(request);
    this.#check(transaction);
    return this.#store.transact((write) => this.#run(transaction, write));
  }

  async compact(request: WireReader): Promise<WireWriter> {
    let revision = 0n;
    while (request.next()) if (request.field === 1) revision = request.int64();
    await this.#store.compact(revision).catch((error: unknown) => {
      throw apiError(error);
    });
    return answer(this.#revision);
  }

  get #revision(): Revision {
    return this.#store.read({ start: '', end: '' }).revision;
  }

  #range(range: Range): WireWriter {
    if (range.key.length === 0) throw emptyKey();
    const { count, matching, revision } = this.#matching(range);
    const { limit } = range;
    const shown = limit > 0 ? matching.slice(0, limit) : matching;
    const written = answer(revision);
    if (!range.countOnly) {
      for (const kv of shown) written.message(2, pair(kv, this.#leases.of(kv.key), range.keysOnly));
      written.bool(3, shown.length < matching.length);
    }
    return written.int(4, count);
  }

  /** `count`: whatever the bounds of revisions leave. */
  #matching(range: Range): {
    readonly matching: MemoryKeyValue[];
    readonly count: number;
    readonly revision: Revision;
  } {
    const { kvs, revision, count } = this.#read(spanOf(range.key, range.end), range.revision);
    const { created, modified } = range;
    const isWithin = (value: Revision, { least, most }: Range['created']) =>
      (least === 0n || value >= least) && (most === 0n || value <= most);
    const matching = kvs.filter((kv) => isWithin(kv.createRevision, created) && isWithin(kv.modRevision, modified));
    return { matching: range.order === undefined ? matching : matching.sort(range.order), count, revision };
  }

  /** @param revision 0: the newest. */
  #read({ start, end }: KeySpan, revision: Revision = 0n) {
    try {
      return this.#store.read({ start, end, ...(revision > 0n ? { revision } : {}) });
    } catch (error) {
      throw apiError(error);
    }
  }

  /** What depends on no other key. */
  #checkPut(put: Put): void {
    if (put.key.length === 0) throw emptyKey();
    if (put.ignoresValue && put.value.length > 0) throw valueProvided();
    if (put.ignoresLease && put.lease !== 0n) throw leaseProvided();
  }

  /** What depends on the keys that are there. */
  #checkState(put: Put): void {
    if (put.lease !== 0n) this.#leases.require(put.lease);
    if ((put.ignoresValue || put.ignoresLease) && this.#current(keyText(put.key)) === undefined) throw keyNotFound();
  }

  #put(put: Put, write: MemoryTransaction): WireWriter {
    const key = keyText(put.key);
    const value = put.ignoresValue ? (this.#current(key)?.value ?? put.value) : Buffer.from(put.value);
    const lease = this.#leases.of(key);
    const previous = write.put(key, value);
    if (!put.ignoresLease) this.#leases.attach(key, put.lease);
    const written = answer(this.#revision);
    return put.tellsPrevious && previous !== undefined ? written.message(2, pair(previous, lease)) : written;
  }

  #delete(deletion: Deletion, write: MemoryTransaction): WireWriter {
    const { kvs } = this.#read(spanOf(deletion.key, deletion.end));
    const leases = kvs.map(({ key }) => this.#leases.of(key));
    for (const { key } of kvs) {
      write.delete(key);
      this.#leases.detach(key);
    }
    const written = answer(this.#revision).int(2, kvs.length);
    if (!deletion.tellsPrevious) return written;
    for (const [index, kv] of kvs.entries()) written.message(3, pair(kv, leases[index] ?? 0n));
    return written;
  }

  /** Checks both branches before anything is done. */
  #check({ comparisons, success, failure }: Transaction): void {
    const most = Math.max(comparisons.length, success.length, failure.length);
    if (most > maxOperations) throw tooManyOperations();
    if (comparisons.some(({ key }) => key.length === 0)) throw emptyKey();
    for (const branch of [success, failure]) {
      for (const operation of branch) {
        if (operation.type === 'put') this.#checkPut(operation.put);
        else if (operation.type === 'transaction') this.#check(operation.transaction);
        else if ((operation.type === 'range' ? operation.range : operation.deletion).key.length === 0) throw emptyKey();
      }
      checkKeys(branch);
    }
  }

  #run({ comparisons, success, failure }: Transaction, write: MemoryTransaction): WireWriter {
    const succeeded = comparisons.every((comparison) => this.#holds(comparison));
    const branch = succeeded ? success : failure;
    for (const operation of branch) if (operation.type === 'put') this.#checkState(operation.put);
    const responses = branch.map((operation) => this.#operate(operation, write));
    const written = answer(this.#revision).bool(2, succeeded);
    for (const response of responses) written.message(3, response);
    return written;
  }

  #operate(operation: Operation, write: MemoryTransaction): WireWriter {
    switch (operation.type) {
      case 'range':
        return new WireWriter().message(1, this.#range(operation.range));
      case 'put':
        return new WireWriter().message(2, this.#put(operation.put, write));
      case 'delete':
        return new WireWriter().message(3, this.#delete(operation.deletion, write));
      case 'transaction':
        return new WireWriter().message(4, this.#run(operation.transaction, write));
    }
  }

  /** A range is compared key by key; an empty one counts as one key with zeros, except for its value. */
  #holds(comparison: Comparison): boolean {
    const { kvs } = this.#read(spanOf(comparison.key, comparison.end));
    if (kvs.length === 0) return comparison.holds(undefined, 0n);
    return kvs.every((kv) => comparison.holds(kv, this.#leases.of(kv.key)));
  }

  #current(key: string): MemoryKeyValue | undefined {
    return this.#store.read({ start: key, end: `${key}\0` }).kvs[0];
  }
}

function readTransaction(reader: WireReader): Transaction {
  const comparisons: Comparison[] = [];
  const success: Operation[] = [];
  const failure: Operation[] = [];
  while (reader.next()) {
    if (reader.field === 1) comparisons.push(readComparison(reader.message()));
    else if (reader.field === 2) success.push(readOperation(reader.message(), readTransaction));
    else if (reader.field === 3) failure.push(readOperation(reader.message(), readTransaction));
  }
  return { comparisons, success, failure };
}

/** No key may be put twice, nor put and deleted, in one branch. */
function checkKeys(branch: readonly Operation[]): void {
  const puts = branch.flatMap((operation) => (operation.type === 'put' ? [keyText(operation.put.key)] : []));
  if (new Set(puts).size < puts.length) throw duplicateKey();
  for (const operation of branch) {
    if (operation.type !== 'delete') continue;
    const { start, end } = spanOf(operation.deletion.key, operation.deletion.end);
    if (puts.some((key) => key >= start && key < end)) throw duplicateKey();
  }
}

function apiError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.code === 'compacted') return compactedRevision();
  return error.code === 'futureRevision' ? futureRevision() : error;
}

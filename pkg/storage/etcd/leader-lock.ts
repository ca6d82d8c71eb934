/**
 * A leader election's lock as one key in etcd, bound to an etcd lease that its holder keeps alive.
 *
 * Guarantees: the key is written once in a term, so that its revision names the term; it goes away when the lease ends,
 * `leaseDurationSeconds` after its holder kept it alive last, by etcd's clock; nobody takes it over before.
 */
import type { Clock } from '#apimachinery/clock.js';
import { electionKey, type LeaderFence } from '#apimachinery/leader-fence.js';
import {
  type EtcdKeyValue,
  readConditionalWriteResponse,
  readKeepAlive,
  readLeaseId,
  readRangeResponse,
  readRevision,
  WireReader,
} from '#storage/etcd/answers.js';
import { EtcdConnection, type EtcdTls } from '#storage/etcd/connection.js';
import { isLeaseNotFound } from '#storage/etcd/errors.js';
import {
  conditionalWriteRequest,
  leaseGrantRequest,
  leaseKeepAliveRequest,
  leaseRevokeRequest,
  rangeRequest,
} from '#storage/etcd/requests.js';
import { StoreError } from '#storage/store.js';

/** As leader election has it; kept in the key as JSON. */
export interface LockRecord {
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly leaderTransitions: number;
}

export interface EtcdLeaderLockOptions {
  /** At least one. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

interface Held {
  readonly record: LockRecord;
  readonly lease: bigint;
  readonly revision: bigint;
}

const keepAlivePath = '/etcdserverpb.Lease/LeaseKeepAlive';
/** Less than any renew deadline that makes sense; the caller's signal ends a call earlier. */
const callTimeoutMs = 5000;

/** A `LeaderLock` of the client's leader election. Throws StoreErrors. */
export class EtcdLeaderLock {
  readonly selfExpiring = true;
  readonly #options: EtcdLeaderLockOptions;
  readonly #connection: EtcdConnection;
  readonly #key: string;
  /** The key as it was seen last. */
  #seen: Held | undefined;

  constructor(options: EtcdLeaderLockOptions) {
    this.#options = options;
    const { endpoints, tls, clock, random } = options;
    this.#connection = new EtcdConnection({ endpoints, ...(tls && { tls }), clock, random, callTimeoutMs });
    this.#key = electionKey(options.namespace, options.name);
  }

  get description(): string {
    return `${this.#options.namespace}/${this.#options.name}`;
  }

  fence(): LeaderFence {
    const { namespace, name } = this.#options;
    return { lock: 'etcdleases', namespace, name, revision: this.#seen?.revision ?? 0n };
  }

  async read(signal: AbortSignal): Promise<LockRecord | undefined> {
    const { kvs } = await this.#connection.call({
      path: '/etcdserverpb.KV/Range',
      request: rangeRequest({ start: this.#key }),
      read: readRangeResponse,
      repeatable: true,
      signal,
    });
    this.#seen = kvs[0] && held(kvs[0]);
    return this.#seen?.record;
  }

  /**
   * What the record asks for, over what was read last: begins a term where nobody holds the lock, keeps the own one
   * alive, ends it for a record without a holder. Rejects when somebody else holds the lock.
   */
  async write(record: LockRecord, signal: AbortSignal): Promise<void> {
    const seen = this.#seen;
    if (seen === undefined) return this.#acquire(record, signal);
    if (record.holderIdentity === '') return this.#release(seen, signal);
    if (seen.record.holderIdentity !== record.holderIdentity) {
      throw new StoreError('unavailable', `${seen.record.holderIdentity} holds the lock until its etcd lease ends`);
    }
    if (seen.record.acquireTime === record.acquireTime) return this.#keepAlive(seen.lease, signal);
    // What was written in an earlier term of this very process must not stand for another one.
    await this.#release(seen, signal);
    await this.#acquire(record, signal);
  }

  /** Idempotent. The lease is left to run out, unless it was released. */
  close(): void {
    this.#connection.close();
  }

  async #acquire(record: LockRecord, signal: AbortSignal): Promise<void> {
    const request = leaseGrantRequest(record.leaseDurationSeconds);
    const path = '/etcdserverpb.Lease/LeaseGrant';
    // One granted twice costs nothing but its own end.
    const lease = await this.#connection.call({ path, request, read: readLeaseId, repeatable: true, signal });
    const value = Buffer.from(JSON.stringify(record));
    const { succeeded, revision, current } = await this.#connection.call({
      path: '/etcdserverpb.KV/Txn',
      request: conditionalWriteRequest({ key: this.#key, expected: 0n, write: { type: 'put', value, lease } }),
      read: readConditionalWriteResponse,
      repeatable: false,
      signal,
    });
    if (succeeded) {
      this.#seen = { record, lease, revision };
      return;
    }
    this.#seen = current && held(current);
    await this.#revoke(lease, signal);
    throw new StoreError('unavailable', `${this.#seen?.record.holderIdentity ?? 'somebody'} was faster`);
  }

  /** The end of the lease removes the key. */
  async #release(seen: Held, signal: AbortSignal): Promise<void> {
    await this.#revoke(seen.lease, signal);
    this.#seen = undefined;
  }

  async #revoke(lease: bigint, signal: AbortSignal): Promise<void> {
    const request = leaseRevokeRequest(lease);
    const path = '/etcdserverpb.Lease/LeaseRevoke';
    try {
      await this.#connection.call({ path, request, read: readRevision, repeatable: true, signal });
    } catch (error) {
      // Gone already: by its own end, or by an earlier try whose answer was lost.
      if (!(error instanceof Error && isLeaseNotFound(error.cause))) throw error;
    }
  }

  async #keepAlive(lease: bigint, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { stream, failed } = await this.#connection.open(keepAlivePath);
    const { clock } = this.#options;
    const cancel = () => stream.cancel();
    const timer = clock.setTimer(cancel, callTimeoutMs);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      stream.write(leaseKeepAliveRequest(lease));
      for await (const answer of stream) {
        if (readKeepAlive(new WireReader(answer)) > 0) return;
        this.#seen = undefined;
        throw new StoreError('unavailable', 'the etcd lease of the lock has ended');
      }
      failed();
      throw new StoreError('unavailable', 'no answer to keeping the etcd lease alive');
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', cancel);
      cancel();
    }
  }
}

function held({ value, lease, modRevision }: EtcdKeyValue): Held {
  return { record: recordOf(value), lease, revision: modRevision };
}

/** A value that nobody can read is somebody's all the same: the lock is free when the key is gone. */
function recordOf(value: Buffer): LockRecord {
  const read = parse(value.toString('utf8'));
  const string = (name: string, otherwise: string) => (typeof read[name] === 'string' ? read[name] : otherwise);
  const number = (name: string) => (typeof read[name] === 'number' ? read[name] : 0);
  return {
    holderIdentity: string('holderIdentity', 'unknown'),
    leaseDurationSeconds: number('leaseDurationSeconds'),
    acquireTime: string('acquireTime', ''),
    renewTime: string('renewTime', ''),
    leaderTransitions: number('leaderTransitions'),
  };
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

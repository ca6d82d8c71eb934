/**
 * The lock of a leader election as one etcd key with a lease, which the holder keeps alive.
 * Guarantees: the key is written once per term, so its revision identifies the term; it disappears when the lease ends,
 * `leaseDurationSeconds` after the last keep-alive by etcd's clock; until then no other candidate gets the lock.
 * The lease client is our own: etcd3 cannot continue the lease of a key that it reads, has no deadline or injected clock for a
 * keep-alive, and would load a second gRPC client.
 */
import type { Clock } from '#apimachinery/clock.js';
import { electionKey, type LeaderFence } from '#apimachinery/leader-fence.js';
import type { LeaderElectionValues } from '#daemon/options/groups/leader-election.js';
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
import { readEtcdFiles } from '#storage/etcd/etcd-files.js';
import {
  conditionalWriteRequest,
  leaseGrantRequest,
  leaseKeepAliveRequest,
  leaseRevokeRequest,
  rangeRequest,
} from '#storage/etcd/requests.js';
import { readServerKind } from '#storage/etcd/server-kind.js';
import { StoreError } from '#storage/store.js';

/** The record of leader election, stored as JSON. */
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
/** Shorter than usual renew deadlines; the caller's signal may end a call earlier. */
const callTimeoutMs = 5000;

/** A `LeaderLock` for the client's leader election. Throws StoreErrors. */
export class EtcdLeaderLock {
  readonly selfExpiring = true;
  readonly #options: EtcdLeaderLockOptions;
  readonly #connection: EtcdConnection;
  readonly #key: string;
  /** The last read or written key. */
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
   * Applies the record to the last read state: starts a term if the lock is free, keeps the own term alive, or ends it
   * for a record without a holder. Rejects if the lock belongs to another holder.
   */
  async write(record: LockRecord, signal: AbortSignal): Promise<void> {
    const seen = this.#seen;
    if (seen === undefined) return this.#acquire(record, signal);
    if (record.holderIdentity === '') return this.#release(seen, signal);
    if (seen.record.holderIdentity !== record.holderIdentity) {
      throw new StoreError('unavailable', `${seen.record.holderIdentity} holds the lock until its etcd lease ends`);
    }
    if (seen.record.acquireTime === record.acquireTime) return this.#keepAlive(seen.lease, signal);
    // A write of an earlier term of this process must not count for another term.
    await this.#release(seen, signal);
    await this.#acquire(record, signal);
  }

  /** Idempotent. An unreleased lease just expires. */
  close(): void {
    this.#connection.close();
  }

  async #acquire(record: LockRecord, signal: AbortSignal): Promise<void> {
    await this.#refuseWithoutLeases(signal);
    const request = leaseGrantRequest(record.leaseDurationSeconds);
    const path = '/etcdserverpb.Lease/LeaseGrant';
    // A lease that stays unused expires, so the call may be repeated.
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
    throw new StoreError(
      'unavailable',
      `${this.#seen?.record.holderIdentity ?? 'another candidate'} acquired the lock first`,
    );
  }

  async #refuseWithoutLeases(signal: AbortSignal): Promise<void> {
    const request = rangeRequest({ start: this.#key, keysOnly: true });
    const path = '/etcdserverpb.KV/Range';
    const server = await this.#connection.call({ path, request, read: readServerKind, repeatable: true, signal });
    if (server.keepsLeases) return;
    throw new StoreError(
      'unavailable',
      `the store is ${server.name}, which cannot keep a lease alive: use --leader-elect-resource-lock=leases`,
    );
  }

  /** Ends the lease; the key disappears with it. */
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
      // The lease has expired, or an earlier attempt whose response was lost has revoked it.
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
      throw new StoreError('unavailable', 'etcd did not answer the keep-alive of the lease');
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

/** The record of the lock. An unreadable value still holds the lock, until the key is gone. */
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

interface OpenLeaderLockOptions {
  readonly values: LeaderElectionValues;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Creates the lock from a daemon's options; sends nothing yet. Throws OptionsError for unreadable files. */
export async function openLeaderLock({ values, ...where }: OpenLeaderLockOptions): Promise<EtcdLeaderLock> {
  const tls = await readEtcdFiles(values);
  return new EtcdLeaderLock({
    endpoints: values['etcd-servers'],
    ...where,
    ...(tls === undefined ? {} : { tls: () => tls.readOrLast() }),
  });
}

/** Stores for the leader's record. */
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { LeaderFence } from '#apimachinery/leader-fence.js';
import type { Client, ResourceClient } from '#client/client.js';
import type { LeaderRecord } from '#client/leaderelection/record.js';

/** An object that holds the leader's record. */
export interface RecordLock {
  /** `namespace/name` of the lock, for logs and metrics. */
  readonly description: string;
  /** The record; undefined if there is none. Remembers the version for `write`. */
  read(signal: AbortSignal): Promise<LeaderRecord | undefined>;
  /** Replaces the version read last; rejects with Conflict or AlreadyExists if another candidate wrote meanwhile. */
  write(record: LeaderRecord, signal: AbortSignal): Promise<void>;
}

/** A lock that candidates take; it also fences the leader's writes. */
export interface LeaderLock extends RecordLock {
  /**
   * The record disappears by itself unless its holder renews it in time, and cannot be taken over before, so candidates
   * need not track its expiry.
   */
  readonly selfExpiring?: boolean;
  /** The condition for writes that the term of `record`, written or read last, still lasts. */
  fence(record: LeaderRecord): LeaderFence;
  /** Resolves when the record read last has changed; rejects if it cannot be watched. Absent: not supported. */
  changed?(signal: AbortSignal): Promise<void>;
}

export interface LeaseLockOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly name: string;
}

/** The lock as a Lease object. */
export class LeaseLock implements LeaderLock {
  readonly #client: ResourceClient<Lease>;
  readonly #namespace: string;
  readonly #name: string;
  #lease: Lease | undefined;

  constructor(options: LeaseLockOptions) {
    this.#client = options.client.resource(leases);
    this.#namespace = options.namespace;
    this.#name = options.name;
  }

  get description(): string {
    return `${this.#namespace}/${this.#name}`;
  }

  fence({ holderIdentity, leaderTransitions, acquireTime }: LeaderRecord): LeaderFence {
    const where = { namespace: this.#namespace, name: this.#name };
    return { lock: 'leases', ...where, holderIdentity, leaseTransitions: leaderTransitions, acquireTime };
  }

  async read(signal: AbortSignal): Promise<LeaderRecord | undefined> {
    try {
      this.#lease = await this.#client.get(this.#name, { namespace: this.#namespace, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#lease = undefined;
      return undefined;
    }
    return recordOf(this.#lease);
  }

  async changed(signal: AbortSignal): Promise<void> {
    const resourceVersion = this.#lease?.metadata.resourceVersion;
    if (resourceVersion === undefined) throw new Error(`${this.description} does not exist yet`);
    const where = { namespace: this.#namespace, fieldSelector: `metadata.name=${this.#name}`, resourceVersion };
    for await (const _ of this.#client.watch({ ...where, signal })) return;
    throw new Error(`the watch of ${this.description} ended`);
  }

  async write(record: LeaderRecord, signal: AbortSignal): Promise<void> {
    const stored = this.#lease;
    const spec = {
      holderIdentity: record.holderIdentity,
      leaseDurationSeconds: record.leaseDurationSeconds,
      acquireTime: record.acquireTime,
      renewTime: record.renewTime,
      leaseTransitions: record.leaderTransitions,
    };
    const metadata = stored?.metadata ?? { name: this.#name, namespace: this.#namespace };
    const lease: Lease = { metadata, spec };
    this.#lease =
      stored === undefined
        ? await this.#client.create(lease, { signal })
        : await this.#client.update(lease, { signal });
  }
}

function recordOf({ spec }: Lease): LeaderRecord {
  return {
    holderIdentity: spec?.holderIdentity ?? '',
    leaseDurationSeconds: spec?.leaseDurationSeconds ?? 0,
    acquireTime: spec?.acquireTime ?? '',
    renewTime: spec?.renewTime ?? '',
    leaderTransitions: spec?.leaseTransitions ?? 0,
  };
}

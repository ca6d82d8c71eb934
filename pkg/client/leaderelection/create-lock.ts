/** Creates the lock that `--leader-elect-resource-lock` names. */
import { configmaps, endpoints } from '#api/core/v1/resources.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { LeaderFence } from '#apimachinery/leader-fence.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client, ResourceClient } from '#client/client.js';
import { type LeaderLock, LeaseLock, type RecordLock } from '#client/leaderelection/lock.js';
import type { LeaderRecord } from '#client/leaderelection/record.js';

interface MultiLockOptions {
  readonly primary: RecordLock;
  /** The lock that fences the leader's writes. */
  readonly secondary: LeaderLock;
  /** Holder shown while the two locks name different holders. */
  readonly unknownHolder: string;
}

/**
 * Holds two locks together for the migration between kinds of lock objects: excludes candidates that use only the first
 * and candidates that use only the second (client-go's MultiLock).
 */
export class MultiLock implements LeaderLock {
  readonly #options: MultiLockOptions;

  constructor(options: MultiLockOptions) {
    this.#options = options;
  }

  get description(): string {
    return this.#options.primary.description;
  }

  fence(record: LeaderRecord): LeaderFence {
    return this.#options.secondary.fence(record);
  }

  /** Watches the secondary, since every write of one lock goes with a write of the other. */
  async changed(signal: AbortSignal): Promise<void> {
    const { secondary } = this.#options;
    if (secondary.changed === undefined) throw new Error(`${secondary.description} cannot be watched`);
    await secondary.changed(signal);
  }

  /** If only one lock exists its holder counts; if they disagree, neither can be taken before both expire. */
  async read(signal: AbortSignal): Promise<LeaderRecord | undefined> {
    const first = await this.#options.primary.read(signal);
    const second = await this.#options.secondary.read(signal);
    if (first === undefined || second === undefined) return first ?? second;
    if (first.holderIdentity === second.holderIdentity) return first;
    // Combine both renewal times, so that either holder's renewals count as a change.
    const renewTime = `${first.renewTime} ${second.renewTime}`;
    return { ...first, renewTime, holderIdentity: this.#options.unknownHolder };
  }

  async write(record: LeaderRecord, signal: AbortSignal): Promise<void> {
    await this.#options.primary.write(record, signal);
    await this.#options.secondary.write(record, signal);
  }
}

interface AnnotationLockOptions<T extends ApiObject> {
  readonly client: Client;
  readonly type: ResourceType<T>;
  readonly namespace: string;
  readonly name: string;
  /** Creates an object with only that metadata. */
  readonly make: (metadata: NonNullable<T['metadata']>) => T;
}

/** The leader's record as an annotation of an object that serves only as a lock: an Endpoints or a ConfigMap. */
class AnnotationLock<T extends ApiObject> implements RecordLock {
  readonly #options: AnnotationLockOptions<T>;
  readonly #client: ResourceClient<T>;
  readonly #annotation: string;
  #object: T | undefined;

  constructor(options: AnnotationLockOptions<T>) {
    this.#options = options;
    this.#client = options.client.resource(options.type);
    this.#annotation = `control-plane.alpha.${options.client.dialect.labelDomain}/leader`;
  }

  get description(): string {
    return `${this.#options.namespace}/${this.#options.name}`;
  }

  /** An object without a valid annotation means that the lock is free. */
  async read(signal: AbortSignal): Promise<LeaderRecord | undefined> {
    const { name, namespace } = this.#options;
    try {
      this.#object = await this.#client.get(name, { namespace, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#object = undefined;
      return undefined;
    }
    return recordOf(this.#object.metadata?.annotations?.[this.#annotation]);
  }

  async write(record: LeaderRecord, signal: AbortSignal): Promise<void> {
    const { name, namespace, make } = this.#options;
    const stored = this.#object;
    const annotations = { ...stored?.metadata?.annotations, [this.#annotation]: JSON.stringify(record) };
    if (stored === undefined) {
      this.#object = await this.#client.create(make({ name, namespace, annotations }), { signal });
      return;
    }
    const object: T = { ...stored, metadata: { ...stored.metadata, annotations } };
    this.#object = await this.#client.update(object, { signal });
  }
}

function recordOf(text: string | undefined): LeaderRecord {
  const read = parse(text ?? '');
  const string = (name: string) => (typeof read[name] === 'string' ? read[name] : '');
  const number = (name: string) => (typeof read[name] === 'number' ? read[name] : 0);
  return {
    holderIdentity: string('holderIdentity'),
    leaseDurationSeconds: number('leaseDurationSeconds'),
    acquireTime: string('acquireTime'),
    renewTime: string('renewTime'),
    leaderTransitions: number('leaderTransitions'),
  };
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Another program's annotation: the lock counts as free, and the next write replaces it.
    return {};
  }
}

export interface CreateLockOptions {
  readonly client: Client;
  /** `leases`, `endpointsleases` or `configmapsleases`. The last two also hold the Lease. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Throws RangeError for an unknown kind. */
export function createLock({ kind, ...where }: CreateLockOptions): LeaderLock {
  const lease = new LeaseLock(where);
  const unknownHolder = `leaderelection.${where.client.dialect.apiDomain}/unknown`;
  switch (kind) {
    case 'leases':
      return lease;
    case 'endpointsleases': {
      const primary = new AnnotationLock({ ...where, type: endpoints, make: (metadata) => ({ metadata }) });
      return new MultiLock({ primary, secondary: lease, unknownHolder });
    }
    case 'configmapsleases': {
      const primary = new AnnotationLock({ ...where, type: configmaps, make: (metadata) => ({ metadata }) });
      return new MultiLock({ primary, secondary: lease, unknownHolder });
    }
    default:
      throw new RangeError(`unknown kind of lock: ${JSON.stringify(kind)}`);
  }
}

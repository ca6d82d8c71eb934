/** The leader's record as an annotation of an object that serves only as a lock: an Endpoints or a ConfigMap. */
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client, ResourceClient } from '#client/client.js';
import type { RecordLock } from '#client/leaderelection/lock.js';
import type { LeaderRecord } from '#client/leaderelection/record.js';

export interface AnnotationLockOptions<T extends ApiObject> {
  readonly client: Client;
  readonly type: ResourceType<T>;
  readonly namespace: string;
  readonly name: string;
  /** Creates an object with only that metadata. */
  readonly make: (metadata: NonNullable<T['metadata']>) => T;
}

export class AnnotationLock<T extends ApiObject> implements RecordLock {
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

/** What an inquiry may read, with the rights of its caller. */
import type { Event, Pod } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';

export interface StoredObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface Scope {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The first so many objects are enough; absent: all. */
  readonly limit?: number;
}

/** Thrown where the caller may not read a resource. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

export interface Observations {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** Undefined for an object that does not exist. Throws Unreadable. */
  get<T extends StoredObject>(type: ResourceType<T>, name: string, namespace?: string): Promise<T | undefined>;
  /** Throws Unreadable. */
  list<T extends StoredObject>(type: ResourceType<T>, scope: Scope): Promise<readonly T[]>;
  /** Events about the object. Throws Unreadable. */
  events(subject: Subject): Promise<readonly Event[]>;
  /** The last lines of a container; `previous`: of the run before. Absent where logs cannot be read. Throws Unreadable. */
  logTail?(pod: Pod, container: string, previous: boolean): Promise<readonly string[]>;
  /** Why the scheduler places the pod nowhere. Absent where only the pod's condition is known. Throws Unreadable. */
  placement?(pod: Pod): Promise<readonly Finding[]>;
}

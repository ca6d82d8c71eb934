/**
 * How the server's own parts (authentication, authorization, admission, bootstrap) read the cluster's objects: from
 * the same caches that requests are served from, without a request. Objects are shared and must not be changed.
 */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';

/** See `keyOf`. */
type ObjectKey = string;

/** `cached`: what this server knows by now. `latest`: consistent with the store at the time of the call. */
export type Freshness = 'cached' | 'latest';

/** Told of every change of a resource, in order. */
export interface Follower<T> {
  /**
   * False for objects that the follower need not be told of, by their JSON, which spares parsing them. What an object
   * concerns once, it concerns for its whole life. Absent: all objects.
   */
  concerns?(json: Buffer): boolean;
  /** True for who can do without the bulk of the objects (see `Entry.outline`); absent: they come as they are. */
  readonly outlines?: boolean;
  /** The whole state; called first, and again whenever the history in between was lost. */
  replaced(objects: readonly T[]): void;
  /**
   * For who keeps little of many objects, in the place of `replaced`: each object of the state has been told by `changed`,
   * in the course of some turns, and is nowhere else in memory. `keys`: those of all of them; all others are gone.
   */
  only?(keys: ReadonlySet<ObjectKey>): void;
  changed(object: T): void;
  /** `object` is the last known state. */
  removed(object: T): void;
}

export interface ObjectReader {
  /** `namespace` is empty for cluster-scoped resources. Undefined when there is no such object. */
  get<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace: string,
    name: string,
    freshness?: Freshness,
  ): MaybePromise<T | undefined>;
  /** What this server knows of it by now, possibly without its bulk (see `Entry.outline`); undefined: there is none. */
  outline<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace: string,
    name: string,
  ): MaybePromise<T | undefined>;
  /** An empty or absent namespace means all. */
  list<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace?: string,
    freshness?: Freshness,
  ): MaybePromise<readonly T[]>;
  /** Keeps the follower told until `signal` aborts. Resolves once it has the first state. */
  follow<T extends ApiObjectShape>(type: ResourceType<T>, follower: Follower<T>, signal: AbortSignal): Promise<void>;
}

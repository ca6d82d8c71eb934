/**
 * Lets the server's own parts (authentication, authorization, admission, bootstrap) read objects from the caches that serve
 * requests. Objects are shared and must not be changed.
 */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';

/** The key of an object: see `keyOf`. */
type ObjectKey = string;

/** `cached`: this server's current state. `latest`: consistent with the store at the time of the call. */
export type Freshness = 'cached' | 'latest';

/** Receives every change of a resource, in order. */
export interface Follower<T> {
  /**
   * False for objects that the follower ignores; decided from the JSON, to avoid parsing. The decision holds for the object's
   * lifetime. Absent: the follower gets all objects.
   */
  concerns?(json: Buffer): boolean;
  /** True: the follower needs only outlines (see `Entry.outline`); absent: whole objects. */
  readonly outlines?: boolean;
  /** Passes the whole state; called first, and again whenever changes were lost. Absent: `only` is present. */
  replaced?(objects: readonly T[]): void;
  /**
   * Replaces `replaced` for followers that keep little of many objects. `changed` is called for each object of the state over
   * several turns, so they are not in memory at once. `keys` lists them; all other objects are gone.
   */
  only?(keys: ReadonlySet<ObjectKey>): void;
  changed(object: T): void;
  /** Reports a deletion; `object` is its last seen state. */
  removed(object: T): void;
}

export interface ObjectReader {
  /** `namespace` is empty for cluster-scoped resources. Undefined if the object does not exist. */
  get<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace: string,
    name: string,
    freshness?: Freshness,
  ): MaybePromise<T | undefined>;
  /** The cached object, possibly as an outline (see `Entry.outline`); undefined if it does not exist. */
  outline<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace: string,
    name: string,
  ): MaybePromise<T | undefined>;
  /** Lists the objects of a namespace, or of all if it is empty or absent. */
  list<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace?: string,
    freshness?: Freshness,
  ): MaybePromise<readonly T[]>;
  /** Informs the follower until `signal` aborts. Resolves once it has the first state. */
  follow<T extends ApiObjectShape>(type: ResourceType<T>, follower: Follower<T>, signal: AbortSignal): Promise<void>;
}

/** The typed client that controllers, the scheduler, the node agent and programs of others use. */
import type { ListMeta, ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';

/** What every object has. */
export interface ApiObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

export interface ApiList<T> {
  apiVersion?: string;
  kind?: string;
  metadata?: ListMeta;
  items: T[];
}

export interface GetOptions {
  namespace?: string;
  resourceVersion?: string;
  subresource?: string;
  signal?: AbortSignal;
}

export interface ListOptions {
  /** Absent: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  limit?: number;
  continue?: string;
  signal?: AbortSignal;
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue'> {
  allowWatchBookmarks?: boolean;
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
}

/** ERROR events are thrown as StatusErrors, so they are not among these. */
export type WatchEvent<T> = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: T };

export interface WriteOptions {
  /** For creating objects that do not name their namespace. */
  namespace?: string;
  subresource?: string;
  dryRun?: boolean;
  fieldManager?: string;
  signal?: AbortSignal;
}

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

export interface PatchOptions extends WriteOptions {
  type: PatchType;
  /** Server-side apply only. */
  force?: boolean;
}

export interface DeleteOptions {
  namespace?: string;
  gracePeriodSeconds?: number;
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: boolean;
  signal?: AbortSignal;
}

/** One resource's verbs. All throw StatusError for an error response, TransportError when there was no response. */
export interface ResourceClient<T extends ApiObject> {
  get(name: string, options?: GetOptions): Promise<T>;
  /** `take` is given each object as soon as it has arrived; what it returns stands in the list. */
  list(options?: ListOptions, take?: (object: T) => T): Promise<ApiList<T>>;
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create(object: T, options?: WriteOptions): Promise<T>;
  update(object: T, options?: WriteOptions): Promise<T>;
  updateStatus(object: T, options?: WriteOptions): Promise<T>;
  patch(name: string, patch: unknown, options: PatchOptions): Promise<T>;
  delete(name: string, options?: DeleteOptions): Promise<void>;
  deleteCollection(options: DeleteOptions & ListOptions): Promise<void>;
  /** POSTs to a subresource with a kind of its own (`pods/binding`, `serviceaccounts/token`, `pods/eviction`). */
  createSubresource<B, R = B>(name: string, subresource: string, body: B, options?: WriteOptions): Promise<R>;
}

export interface RequestOptions {
  signal?: AbortSignal;
  contentType?: string;
  /** A longer answer is refused with a TransportError: for answers of servers that are not ours. Absent: any length. */
  maxBytes?: number;
}

export interface Client {
  readonly dialect: Dialect;
  resource<T extends ApiObject>(type: ResourceType<T>): ResourceClient<T>;
  /** Any request: discovery, health, other resources. JSON in, JSON out. */
  request<R>(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<R>;
  close(): Promise<void>;
}

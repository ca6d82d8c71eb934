/** The typed client of controllers, the scheduler, the node agent and external programs. */
import type { ListMeta, ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';

/** Fields of every object. */
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
  /** Namespace for objects that do not set it. */
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

/** The verbs of one resource. All throw StatusError for an error response and TransportError without a response. */
export interface ResourceClient<T extends ApiObject> {
  get(name: string, options?: GetOptions): Promise<T>;
  /** Calls `take` with each object as it arrives; its result goes into the list. */
  list(options?: ListOptions, take?: (object: T) => T): Promise<ApiList<T>>;
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create(object: T, options?: WriteOptions): Promise<T>;
  update(object: T, options?: WriteOptions): Promise<T>;
  updateStatus(object: T, options?: WriteOptions): Promise<T>;
  patch(name: string, patch: unknown, options: PatchOptions): Promise<T>;
  delete(name: string, options?: DeleteOptions): Promise<void>;
  deleteCollection(options: DeleteOptions & ListOptions): Promise<void>;
  /** POSTs to a subresource whose kind differs (`pods/binding`, `serviceaccounts/token`, `pods/eviction`). */
  createSubresource<B, R = B>(name: string, subresource: string, body: B, options?: WriteOptions): Promise<R>;
}

export interface RequestOptions {
  signal?: AbortSignal;
  contentType?: string;
  /** Longer responses fail with a TransportError; for untrusted servers. Absent: no limit. */
  maxBytes?: number;
}

export interface Client {
  readonly dialect: Dialect;
  resource<T extends ApiObject>(type: ResourceType<T>): ResourceClient<T>;
  /** Sends any request, such as discovery or health; JSON in, JSON out. */
  request<R>(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<R>;
  close(): Promise<void>;
}

/** The verbs of one resource as HTTP requests. */
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type {
  ApiList,
  ApiObject,
  DeleteOptions,
  GetOptions,
  ListOptions,
  PatchOptions,
  PatchType,
  ResourceClient,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '#client/client.js';
import type { ObjectEncoding } from '#client/rest/object-encoding.js';
import { type QueryValues, queryString, resourcePath } from '#client/rest/paths.js';
import type { TransportResponse } from '#client/rest/transport.js';
import { watchEvent } from '#client/rest/watch-stream.js';
import { TransportError } from '#http/client/transport-error.js';

/** A request with everything that the client adds to it. */
export interface ClientRequest {
  readonly method: string;
  /** Label in metrics: GET, LIST, WATCH, … */
  readonly verb?: string;
  readonly path: string;
  readonly body?: Buffer | string | undefined;
  readonly contentType?: string | undefined;
  /** Accept header; default: JSON. */
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Limit of the response that `value` reads. */
  readonly maxBytes?: number | undefined;
}

/** Sends requests with retries. Both methods throw StatusError and TransportError. */
export interface RequestSender {
  readonly dialect: Dialect;
  readonly encoding: ObjectEncoding;
  /** The decoded response. */
  value(request: ClientRequest): Promise<unknown>;
  /** A successful response with its body unread. */
  open(request: ClientRequest): Promise<TransportResponse>;
}

const patchMediaTypes: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

export class RestResourceClient<T extends ApiObject> implements ResourceClient<T> {
  readonly #sender: RequestSender;
  readonly #type: ResourceType<T>;
  readonly #apiVersion: string;
  readonly #accept: string;

  constructor(sender: RequestSender, type: ResourceType<T>) {
    this.#sender = sender;
    this.#type = type;
    this.#apiVersion = sender.dialect.apiVersion(type.group, type.version);
    this.#accept = sender.encoding.accept(type, this.#apiVersion);
  }

  async get(name: string, options: GetOptions = {}): Promise<T> {
    const { namespace, subresource, resourceVersion, signal } = options;
    const path = this.#path({ namespace, name, subresource }) + queryString({ resourceVersion });
    return this.#object(await this.#sender.value({ method: 'GET', path, accept: this.#accept, signal }));
  }

  async list(options: ListOptions = {}, take: (object: T) => T = (object) => object): Promise<ApiList<T>> {
    const path = this.#path({ namespace: options.namespace }) + queryString(listQuery(options));
    const { signal } = options;
    const request = { method: 'GET', verb: 'LIST', path, accept: this.#accept, signal };
    const { headers, body } = await this.#sender.open(request);
    const answer = await this.#sender.encoding.list(headers['content-type'], body, {
      names: { apiVersion: this.#apiVersion, kind: this.#type.kind },
      take: (item) => take(this.#identified(this.#object(item))),
    });
    const list = this.#object(answer) as unknown as ApiList<T>;
    // An empty list may be null or absent.
    list.items ??= [];
    return list;
  }

  async *watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent<T>> {
    const { signal } = options;
    const query = queryString({
      ...listQuery(options),
      watch: true,
      allowWatchBookmarks: options.allowWatchBookmarks,
      sendInitialEvents: options.sendInitialEvents,
      timeoutSeconds: options.timeoutSeconds,
    });
    const path = this.#path({ namespace: options.namespace }) + query;
    try {
      const { encoding } = this.#sender;
      const request = { method: 'GET', verb: 'WATCH', path, accept: this.#accept, signal };
      const { headers, body } = await this.#sender.open(request);
      const reader = encoding.watchReader(headers['content-type']);
      for await (const chunk of body) {
        for (const message of reader.push(chunk)) {
          const event = watchEvent<T>(message);
          this.#identified(event.object);
          yield event;
        }
      }
    } catch (error) {
      // The caller ended the watch, so this is no failure.
      if (signal?.aborted) return;
      throw error;
    }
  }

  async create(object: T, options: WriteOptions = {}): Promise<T> {
    const namespace = object.metadata.namespace ?? options.namespace;
    const { subresource } = options;
    const name = subresource === undefined ? undefined : nameOf(object);
    return this.#write('POST', this.#path({ namespace, name, subresource }), object, options);
  }

  async update(object: T, options: WriteOptions = {}): Promise<T> {
    const namespace = object.metadata.namespace ?? options.namespace;
    const path = this.#path({ namespace, name: nameOf(object), subresource: options.subresource });
    return this.#write('PUT', path, object, options);
  }

  updateStatus(object: T, options: WriteOptions = {}): Promise<T> {
    return this.update(object, { ...options, subresource: 'status' });
  }

  async patch(name: string, patch: unknown, options: PatchOptions): Promise<T> {
    const { namespace, subresource, type, force, signal } = options;
    const path = this.#path({ namespace, name, subresource }) + queryString({ ...writeQuery(options), force });
    const body = typeof patch === 'string' ? patch : toJSONText(patch);
    const contentType = patchMediaTypes[type];
    return this.#object(
      await this.#sender.value({ method: 'PATCH', path, body, contentType, accept: this.#accept, signal }),
    );
  }

  async delete(name: string, options: DeleteOptions = {}): Promise<void> {
    const path = this.#path({ namespace: options.namespace, name });
    await this.#sender.value({ method: 'DELETE', path, body: deleteBody(options), signal: options.signal });
  }

  async deleteCollection(options: DeleteOptions & ListOptions): Promise<void> {
    const path = this.#path({ namespace: options.namespace }) + queryString(listQuery(options));
    const body = deleteBody(options);
    await this.#sender.value({ method: 'DELETE', verb: 'DELETECOLLECTION', path, body, signal: options.signal });
  }

  async createSubresource<B, R = B>(
    name: string,
    subresource: string,
    body: B,
    options: WriteOptions = {},
  ): Promise<R> {
    const subresourceDeclaration = this.#type.subresources?.find((other) => other.name === subresource);
    const path = this.#path({ namespace: options.namespace, name, subresource }) + queryString(writeQuery(options));
    const names = {
      apiVersion: this.#sender.dialect.apiVersion(
        subresourceDeclaration?.group ?? this.#type.group,
        subresourceDeclaration?.version ?? this.#type.version,
      ),
      kind: subresourceDeclaration?.kind ?? '',
    };
    const { signal } = options;
    const encoded =
      subresourceDeclaration === undefined
        ? { body: toJSONText(body) }
        : this.#sender.encoding.encode(body as object, names);
    return (await this.#sender.value({ method: 'POST', path, ...encoded, accept: this.#accept, signal })) as R;
  }

  async #write(method: string, path: string, object: T, options: WriteOptions): Promise<T> {
    const names = { apiVersion: this.#apiVersion, kind: this.#type.kind };
    const encoded = this.#sender.encoding.encode(object, names);
    const { signal } = options;
    const request = { method, path: path + queryString(writeQuery(options)), ...encoded, accept: this.#accept, signal };
    return this.#object(await this.#sender.value(request));
  }

  #path(target: {
    namespace?: string | undefined;
    name?: string | undefined;
    subresource?: string | undefined;
  }): string {
    return resourcePath(this.#sender.dialect, this.#type, target);
  }

  /** Adds apiVersion and kind to list items, which arrive without them. */
  #identified(object: T): T {
    object.apiVersion ??= this.#apiVersion;
    object.kind ??= this.#type.kind;
    return object;
  }

  #object(value: unknown): T {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as T;
    throw new TransportError('Protocol', `the response is not a ${this.#type.kind}`);
  }
}

function nameOf(object: ApiObject): string {
  const { name } = object.metadata;
  if (name === undefined || name === '') throw badRequest('metadata.name is required');
  return name;
}

function listQuery(options: ListOptions): QueryValues {
  return {
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
    limit: options.limit,
    continue: options.continue,
  };
}

function writeQuery(options: WriteOptions): QueryValues {
  return { dryRun: options.dryRun === true ? 'All' : undefined, fieldManager: options.fieldManager };
}

/** The DeleteOptions object; undefined if it would be empty. */
function deleteBody(options: DeleteOptions): string | undefined {
  const { gracePeriodSeconds, propagationPolicy, preconditions } = options;
  const dryRun = options.dryRun === true ? ['All'] : undefined;
  const fields = { gracePeriodSeconds, propagationPolicy, preconditions, dryRun };
  if (Object.values(fields).every((value) => value === undefined)) return undefined;
  return toJSONText({ kind: 'DeleteOptions', apiVersion: 'v1', ...fields });
}

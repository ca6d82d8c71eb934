/**
 * An in-memory API server for unit tests of controllers: typed objects with versions, conflicts, finalizers and watches,
 * behind the real client. It is strict: a request for an undeclared resource, or for a subresource without a handler,
 * fails and is recorded for `verify`. A leader's writes succeed only in its term. It neither validates nor sets defaults;
 * tests that depend on these use the real server.
 */

import { schemeFor } from '#api/scheme.js';
import type { Clock } from '#apimachinery/clock.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import {
  conflict,
  internalError,
  invalid,
  methodNotAllowed,
  pathNotFound,
  type Qualified,
  StatusError,
  statusOf,
} from '#apimachinery/errors/status.js';
import {
  type LeaseTerm,
  leaderFenceHeader,
  parseLeaderFence,
  showsTerm,
  termIsOver,
} from '#apimachinery/leader-fence.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ResourceDeclaration, ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import {
  type InProcessRequest,
  type InProcessResponse,
  InProcessTransport,
} from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { deleteOptions, describe, type FakeCall, selects, verbOf } from '#client/testing/fake-call.js';
import { applyPatch } from '#client/testing/fake-patch.js';
import { type TrackedEvent, Tracker } from '#client/testing/tracker.js';
import { WatchBody } from '#client/testing/watch-body.js';

export type { FakeCall } from '#client/testing/fake-call.js';

/** Handles a call instead of the fake: returns an error to throw, an object to return, or undefined to pass. */
export type Interceptor = (call: FakeCall) => StatusError | object | undefined;

export interface FakeApiOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly resources: readonly ResourceDeclaration[];
}

interface Route {
  readonly type: ResourceDeclaration;
  readonly q: Qualified;
  readonly call: FakeCall;
  readonly query: URLSearchParams;
  readonly contentType: string;
}

export class FakeApi {
  readonly client: RestClient;
  /** Whether watches may begin with the initial state. */
  streamsInitialState = true;
  /** Every request, in order. */
  readonly calls: FakeCall[] = [];
  readonly #dialect: Dialect;
  readonly #types: readonly ResourceDeclaration[];
  readonly #tracker: Tracker;
  readonly #interceptors = new Set<Interceptor>();
  readonly #watches = new Set<WatchBody>();
  readonly #unexpected: string[] = [];

  constructor(options: FakeApiOptions) {
    this.#dialect = options.dialect;
    this.#types = options.resources;
    this.#tracker = new Tracker(options.clock);
    this.client = new RestClient({
      transport: new InProcessTransport({ handler: (request) => this.handle(request) }),
      dialect: options.dialect,
      clock: options.clock,
    });
  }

  /** Creates an object as another client: no call is recorded, interceptors are skipped. */
  seed<T extends ApiObject>(type: ResourceType<T>, object: T): Draft<T> {
    return structuredClone(this.#tracker.create(this.#qualified(type), this.#typed(type, object))) as Draft<T>;
  }

  /** Replaces an object, including its status, as another client. */
  change<T extends ApiObject>(type: ResourceType<T>, key: string, edit: (object: Draft<T>) => void): Draft<T> {
    const object = structuredClone(this.#tracker.get(this.#qualified(type), key)) as Draft<T>;
    edit(object);
    return structuredClone(this.#tracker.update(this.#qualified(type), object as ApiObject, 'all')) as Draft<T>;
  }

  /** Removes an object at once as another client, ignoring finalizers. */
  remove(type: ResourceDeclaration, key: string): void {
    const q = this.#qualified(type);
    const object = copyJson(this.#tracker.get(q, key));
    delete object.metadata.finalizers;
    this.#tracker.update(q, { ...object, metadata: { ...object.metadata } }, 'all');
    if (this.#tracker.find(q, key) !== undefined) this.#tracker.delete(q, key, {});
  }

  get<T extends ApiObject>(type: ResourceType<T>, key: string): Draft<T> | undefined {
    return structuredClone(this.#tracker.find(this.#qualified(type), key)) as Draft<T> | undefined;
  }

  list<T extends ApiObject>(type: ResourceType<T>): Draft<T>[] {
    return structuredClone(this.#tracker.list(this.#qualified(type))) as Draft<T>[];
  }

  /** Adds an interceptor; the last one added is called first. Returns a function that removes it. */
  intercept(interceptor: Interceptor): () => void {
    this.#interceptors.add(interceptor);
    return () => this.#interceptors.delete(interceptor);
  }

  /** Returns and forgets the writes so far, as lines such as `update pods/status default/a`. */
  takeWrites(): string[] {
    const reads = new Set(['get', 'list', 'watch']);
    return this.calls
      .splice(0)
      .filter((call) => !reads.has(call.verb))
      .map(describe);
  }

  /** Ends every watch, like a restarting server. */
  dropWatches(): void {
    for (const watch of [...this.#watches]) watch.end();
  }

  /** Sends a bookmark with the current version to every watch that allows bookmarks. */
  bookmark(): void {
    for (const watch of this.#watches) watch.bookmark(this.#tracker.revision);
  }

  /** Drops the history: a watch from an earlier version gets 410. */
  compact(): void {
    this.#tracker.compact();
  }

  /** Throws if a request was unexpected. */
  verify(): void {
    if (this.#unexpected.length > 0) throw new Error(`unexpected requests:\n${this.#unexpected.join('\n')}`);
  }

  /** The fake as an API server's handler. */
  async handle(request: InProcessRequest): Promise<InProcessResponse> {
    try {
      const route = this.#route(request);
      this.calls.push(route.call);
      const replaced = this.#callInterceptors(route.call);
      if (replaced !== undefined) return json(200, replaced);
      if (route.call.verb === 'watch') return this.#watch(route, request.signal);
      if (route.call.verb !== 'get' && route.call.verb !== 'list') this.#checkFence(request);
      return json(route.call.verb === 'create' ? 201 : 200, this.#execute(route));
    } catch (error) {
      const status = statusOf(error) ?? internalError(error).status;
      return json(status.code ?? 500, status);
    }
  }

  #checkFence({ headers }: InProcessRequest): void {
    const text = headers[leaderFenceHeader];
    if (text === undefined) return;
    const fence = parseLeaderFence(text);
    if (fence.lock !== 'leases') throw new TypeError('the fake supports Lease locks only');
    const q = { group: this.#dialect.groupName('coordination'), resource: 'leases' };
    const lease = this.#tracker.find(q, `${fence.namespace}/${fence.name}`) as { spec?: LeaseTerm } | undefined;
    if (!showsTerm(fence, lease?.spec)) throw conflict(q, fence.name, termIsOver);
  }

  #callInterceptors(call: FakeCall): object | undefined {
    for (const interceptor of [...this.#interceptors].reverse()) {
      const answer = interceptor(call);
      if (answer instanceof StatusError) throw answer;
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  #execute({ type, q, call, query, contentType }: Route): object {
    const { namespace, name, subresource } = call;
    const key = namespace === undefined ? (name ?? '') : `${namespace}/${name ?? ''}`;
    const part =
      subresource === 'status' ? 'status' : type.subresources?.some((s) => s.name === 'status') ? 'spec' : 'all';
    if (subresource !== undefined && subresource !== 'status') return this.#refuse(call);
    switch (call.verb) {
      case 'get':
        return this.#tracker.get(q, key);
      case 'list': {
        const metadata = { resourceVersion: String(this.#tracker.revision) };
        const items = this.#tracker.list(q).filter(selects(query, namespace));
        return { apiVersion: this.#apiVersion(type), kind: `${type.kind}List`, metadata, items };
      }
      case 'create': {
        const object = call.body as ApiObject;
        return this.#tracker.create(
          q,
          namespace === undefined ? object : { ...object, metadata: { ...object.metadata, namespace } },
        );
      }
      case 'update':
        return this.#tracker.update(q, call.body as ApiObject, part);
      case 'patch': {
        const schema = schemeFor(this.#dialect).findType(`${type.group}.${type.version}.${type.kind}`);
        const patched = applyPatch(contentType, this.#tracker.get(q, key), call.body, schema) as ApiObject;
        return this.#tracker.update(q, patched, part);
      }
      case 'delete':
        return this.#tracker.delete(q, key, deleteOptions(call.body));
      case 'deletecollection':
        for (const object of this.#tracker.list(q).filter(selects(query, namespace))) {
          this.#tracker.delete(q, keyOf(object), deleteOptions(call.body));
        }
        return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
      case 'watch':
        throw new TypeError('a watch has no single response');
      default:
        return call.verb satisfies never;
    }
  }

  #watch({ q, call, query }: Route, signal: AbortSignal): InProcessResponse {
    const selected = selects(query, call.namespace);
    const version = query.get('resourceVersion') ?? '';
    const streams = query.get('sendInitialEvents') === 'true';
    if (streams && !this.streamsInitialState) {
      throw invalid({ group: '', kind: 'ListOptions' }, '', [
        {
          reason: 'FieldValueForbidden',
          field: 'sendInitialEvents',
          message: 'Forbidden: sendInitialEvents is forbidden',
        },
      ]);
    }
    const watch = new WatchBody(query.get('allowWatchBookmarks') === 'true');
    const send = ({ type, object }: TrackedEvent) => {
      if (selected(object)) watch.send({ type, object });
    };
    const fromNow = streams || version === '' || version === '0';
    if (fromNow) for (const object of this.#tracker.list(q)) send({ type: 'ADDED', object, revision: 0 });
    if (streams) watch.bookmark(this.#tracker.revision, { [this.#dialect.bookmarkAnnotation]: 'true' });
    const unlisten = this.#tracker.listen(q, fromNow ? this.#tracker.revision : Number(version), send);
    this.#watches.add(watch);
    watch.onEnd(() => {
      unlisten();
      this.#watches.delete(watch);
    });
    signal.addEventListener('abort', () => watch.end(), { once: true });
    return { status: 200, headers: { 'content-type': 'application/json' }, body: watch };
  }

  #route(request: InProcessRequest): Route {
    const url = new URL(request.url, 'http://fake');
    const parts = url.pathname.split('/').slice(1).map(decodeURIComponent);
    const group = parts.shift() === 'api' ? '' : (parts.shift() ?? '');
    const version = parts.shift();
    const namespaced =
      parts[0] === 'namespaces' && parts.length > 2 && !['status', 'finalize'].includes(parts[2] ?? '');
    const namespace = namespaced ? parts.splice(0, 2)[1] : undefined;
    const [resource = '', name, ...rest] = parts;
    const type = this.#types.find(
      (other) =>
        other.resource === resource && other.version === version && this.#dialect.groupName(other.group) === group,
    );
    const call: FakeCall = {
      verb: verbOf(request.method, name, url.searchParams),
      resource,
      subresource: rest.length === 0 ? undefined : rest.join('/'),
      namespace,
      name,
      body: request.body.length === 0 ? undefined : parseJSONText(request.body.toString('utf8')),
    };
    if (type === undefined) {
      this.#unexpected.push(`${describe(call)} (${request.method} ${request.url})`);
      throw pathNotFound();
    }
    const contentType = request.headers['content-type'] ?? '';
    return { type, q: this.#qualified(type), call, query: url.searchParams, contentType };
  }

  #refuse(call: FakeCall): never {
    this.#unexpected.push(describe(call));
    throw methodNotAllowed({ group: '', resource: `${call.resource}/${call.subresource}` }, call.verb);
  }

  #qualified(type: ResourceDeclaration): Qualified {
    return { group: this.#dialect.groupName(type.group), resource: type.resource };
  }

  #apiVersion(type: ResourceDeclaration): string {
    return this.#dialect.apiVersion(type.group, type.version);
  }

  #typed<T extends ApiObject>(type: ResourceType<T>, object: T): T {
    return { ...object, apiVersion: this.#apiVersion(type), kind: type.kind };
  }
}

function json(status: number, value: object): InProcessResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}

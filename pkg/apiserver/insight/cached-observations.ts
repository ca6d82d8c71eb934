/** What an inquiry reads, from the server's caches and with the rights of the client. */
import { events } from '#api/core/v1/resources.gen.js';
import type { Event, Pod } from '#api/core/v1/types.gen.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { everyField, parseFieldSelector } from '#apimachinery/selectors/fields.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { selection } from '#apiserver/registry/selectors.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import { converted, objectOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Subject } from '#insight/inquiry/finding.js';
import { type Observations, type Scope, type StoredObject, Unreadable } from '#insight/inquiry/observations.js';
import type { Entry } from '#storage/resource-storage.js';

export interface CachedObservationsOptions {
  readonly dialect: Dialect;
  readonly authorizer: Authorizer;
  readonly resources: Pick<ResourceTable, 'find'>;
  readonly turns: Pick<TurnQueue, 'pause'>;
  readonly nowMs: number;
  readonly user: UserInfo;
  /** Aborts when the client disconnects or the request times out. */
  readonly signal: AbortSignal;
  /** The last lines of a container; undefined for a client that may not read them. */
  readonly logTail: (pod: Pod, container: string, previous: boolean) => Promise<readonly string[] | undefined>;
}

type Match = (entry: Entry) => boolean;

/** Entries between checks for other waiting work. */
const slice = 256;
/** Entries that one inquiry compares with its selectors. */
const maxCompared = 1_000_000;
/** Objects of one list; longer ones are not read, because half of a list could accuse an object that is not at fault. */
const maxObjects = 5000;
/** A namespace with fewer events is searched for those with unusual names. */
const fewEvents = 2000;

export class CachedObservations implements Observations {
  readonly nowMs: number;
  readonly #options: CachedObservationsOptions;
  #compared = 0;

  constructor(options: CachedObservationsOptions) {
    this.#options = options;
    this.nowMs = options.nowMs;
  }

  async get<T extends StoredObject>(type: ResourceType<T>, name: string, namespace = ''): Promise<T | undefined> {
    const resource = this.#resource(type);
    if (name === '' || resource === undefined) return undefined;
    return (await this.read(resource, name, namespace)) as T | undefined;
  }

  /** Throws Unreadable. */
  async read(resource: ServedResource, name: string, namespace: string): Promise<StoredObject | undefined> {
    const scope = resource.declaration.namespaced ? namespace : '';
    await this.#require(resource, 'get', scope, name);
    const key = resource.declaration.namespaced ? `${namespace}/${name}` : name;
    await resource.storage.waitReady(this.#options.signal);
    // Objects that are computed when they are read are in no cache.
    const entry =
      resource.storage.cached(key) ?? (await resource.storage.get(key, { kind: 'any' }, this.#options.signal));
    if (entry === undefined) return undefined;
    // Held until the object is read.
    const held = await converted(resource, [entry], this.#options);
    const object = objectOf(resource, entry) as StoredObject;
    return held === undefined ? object : { ...object };
  }

  async list<T extends StoredObject>(type: ResourceType<T>, scope: Scope): Promise<readonly T[]> {
    const resource = this.#resource(type);
    // A resource that is not served has no objects.
    if (resource === undefined) return [];
    const { namespace = '', labelSelector = '', fieldSelector = '' } = scope;
    await this.#require(resource, 'list', namespace, '');
    const query = new URLSearchParams({ labelSelector, fieldSelector });
    const fields = fieldSelector === '' ? everyField : parseFieldSelector(fieldSelector);
    const match = selection(resource, { query, name: '', fields });
    await resource.storage.waitReady(this.#options.signal);
    const entries = resource.storage.cachedIn(namespace === '' ? '' : `${namespace}/`);
    return (await this.#objects(resource, entries, { match, limit: scope.limit })) as T[];
  }

  /** Recorders name events after the object, which spares the search through all of them. */
  async events({ kind, namespace = 'default', name }: Subject): Promise<readonly Event[]> {
    const resource = this.#resource(events);
    if (resource === undefined) return [];
    await this.#require(resource, 'list', namespace, '');
    await resource.storage.waitReady(this.#options.signal);
    const named = resource.storage.cachedIn(`${namespace}/${name}.`);
    const all = resource.storage.cachedIn(`${namespace}/`);
    const entries = all.length <= fewEvents ? all : named;
    const objects = (await this.#objects(resource, entries, {})) as Event[];
    return objects.filter(({ involvedObject: of }) => of.kind === kind && of.name === name);
  }

  async logTail(pod: Pod, container: string, previous: boolean): Promise<readonly string[]> {
    const lines = await this.#options.logTail(pod, container, previous);
    if (lines === undefined) throw new Unreadable('pods/log');
    return lines;
  }

  async #objects(
    resource: ServedResource,
    entries: readonly Entry[],
    { match, limit = maxObjects + 1 }: { readonly match?: Match | undefined; readonly limit?: number | undefined },
  ): Promise<StoredObject[]> {
    const { turns, signal } = this.#options;
    this.#compared += entries.length;
    if (this.#compared > maxCompared) throw new Unreadable(`${resource.declaration.resource}: too many`);
    const selected: Entry[] = [];
    for (const [i, entry] of entries.entries()) {
      if (selected.length === limit) break;
      if (i % slice === slice - 1) {
        await turns.pause();
        signal.throwIfAborted();
      }
      if (match?.(entry) !== false) selected.push(entry);
    }
    if (selected.length > maxObjects) throw new Unreadable(`${resource.declaration.resource}: too many`);
    const objects: StoredObject[] = [];
    for (const [i, entry] of selected.entries()) {
      if (i % slice === slice - 1) await turns.pause();
      objects.push(objectOf(resource, entry) as StoredObject);
    }
    return objects;
  }

  #resource({ group, version, resource }: ResourceType<StoredObject>): ServedResource | undefined {
    return this.#options.resources.find(this.#options.dialect.groupName(group), version, resource);
  }

  async #require(resource: ServedResource, verb: string, namespace: string, name: string): Promise<void> {
    const { authorizer, user } = this.#options;
    const { group, declaration } = resource;
    const { decision } = await authorizer.authorize({
      ...{ user, verb, resourceRequest: true, group, namespace, name, path: '' },
      ...{ version: declaration.version, resource: declaration.resource, subresource: '' },
    });
    if (decision !== 'allow') throw new Unreadable(declaration.resource);
  }
}

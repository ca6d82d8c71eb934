/** The objects of the fake API: versions, conflicts, deletion with finalizers, watches with history. */

import { type Clock, formatTime, parseTime } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import {
  alreadyExists,
  conflict,
  expired,
  notFound,
  optimisticLockMessage,
  type Qualified,
} from '#apimachinery/errors/status.js';
import { successor } from '#apimachinery/int64.js';
import { keyOf, splitKey } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';

export interface TrackedEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ApiObject;
  readonly revision: number;
}

interface Collection {
  readonly objects: Map<string, ApiObject>;
  readonly history: TrackedEvent[];
  readonly listeners: Set<(event: TrackedEvent) => void>;
}

export class Tracker {
  readonly #clock: Clock;
  readonly #collections = new Map<string, Collection>();
  #revision = 1;
  #uids = 0;
  #oldestRevision = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get revision(): number {
    return this.#revision;
  }

  list(q: Qualified): ApiObject[] {
    return [...this.#collection(q).objects.values()];
  }

  find(q: Qualified, key: string): ApiObject | undefined {
    return this.#collection(q).objects.get(key);
  }

  get(q: Qualified, key: string): ApiObject {
    const object = this.find(q, key);
    if (object === undefined) throw notFound(q, splitKey(key).name);
    return object;
  }

  create(q: Qualified, input: ApiObject): ApiObject {
    const object = copyJson(input);
    const { metadata } = object;
    this.#uids += 1;
    if ((metadata.name ?? '') === '' && metadata.generateName !== undefined) {
      metadata.name = `${metadata.generateName}${this.#uids.toString(36).padStart(5, '0')}`;
    }
    if (this.find(q, keyOf(object)) !== undefined) throw alreadyExists(q, metadata.name ?? '');
    metadata.uid ??= `00000000-0000-4000-8000-${String(this.#uids).padStart(12, '0')}`;
    metadata.creationTimestamp ??= formatTime(this.#clock.now());
    metadata.generation ??= 1;
    return this.#store(q, 'ADDED', object);
  }

  /** `part`: the part that the subresource may change. */
  update(q: Qualified, input: ApiObject, part: 'spec' | 'status' | 'all'): ApiObject {
    const key = keyOf(input);
    const old = this.get(q, key);
    const version = input.metadata.resourceVersion;
    if (version !== undefined && version !== '' && version !== old.metadata.resourceVersion) {
      throw conflict(q, splitKey(key).name, optimisticLockMessage);
    }
    checkUid(q, old, input.metadata.uid);
    const object = mergeParts(old, copyJson(input), part);
    const { metadata } = object;
    metadata.uid = old.metadata.uid ?? '';
    if (old.metadata.creationTimestamp !== undefined) metadata.creationTimestamp = old.metadata.creationTimestamp;
    if (old.metadata.deletionTimestamp !== undefined) metadata.deletionTimestamp = old.metadata.deletionTimestamp;
    if (old.metadata.generation !== undefined) metadata.generation = old.metadata.generation;
    if (!same(specOf(old), specOf(object))) metadata.generation = successor(metadata.generation ?? 0);
    if (same(old, { ...object, metadata: { ...metadata, resourceVersion: old.metadata.resourceVersion } })) return old;
    const goes = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
    if (!goes || (metadata.deletionGracePeriodSeconds ?? 0) > 0) return this.#store(q, 'MODIFIED', object);
    return this.#remove(q, object);
  }

  /** Removes the object, or marks it for deletion while finalizers or a grace period keep it. */
  delete(
    q: Qualified,
    key: string,
    options: { uid?: string; resourceVersion?: string; graceSeconds?: number },
  ): ApiObject {
    const old = this.get(q, key);
    const { uid, resourceVersion } = options;
    checkUid(q, old, uid);
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
      throw conflict(q, splitKey(key).name, `Precondition failed: ResourceVersion in precondition: ${resourceVersion}`);
    }
    const graceful = (options.graceSeconds ?? 0) > 0;
    if (!graceful && (old.metadata.finalizers ?? []).length === 0) return this.#remove(q, copyJson(old));
    const object = copyJson(old);
    const graceSeconds = options.graceSeconds ?? 0;
    const { deletionTimestamp, deletionGracePeriodSeconds: granted = 0 } = old.metadata;
    // A second deletion can only shorten the grace period.
    if (deletionTimestamp !== undefined && graceSeconds >= granted) return old;
    const since =
      deletionTimestamp === undefined ? this.#clock.now() : parseTime(deletionTimestamp) - Number(granted) * 1000;
    object.metadata.deletionTimestamp = formatTime(since + graceSeconds * 1000);
    if (graceful || granted > 0) object.metadata.deletionGracePeriodSeconds = graceSeconds;
    return this.#store(q, 'MODIFIED', object);
  }

  /** Listens to events after `revision`, past and future. Throws 410 Expired if the history begins later. */
  listen(q: Qualified, revision: number, listener: (event: TrackedEvent) => void): () => void {
    if (revision < this.#oldestRevision) throw expired(`too old resource version: ${revision}`);
    const collection = this.#collection(q);
    for (const event of collection.history) if (event.revision > revision) listener(event);
    collection.listeners.add(listener);
    return () => collection.listeners.delete(listener);
  }

  /** Drops the history: watches from earlier versions expire. */
  compact(): void {
    this.#revision += 1;
    this.#oldestRevision = this.#revision;
    for (const collection of this.#collections.values()) collection.history.length = 0;
  }

  #remove(q: Qualified, object: Draft<ApiObject>): ApiObject {
    return this.#store(q, 'DELETED', object);
  }

  #store(q: Qualified, type: TrackedEvent['type'], object: Draft<ApiObject>): ApiObject {
    const collection = this.#collection(q);
    this.#revision += 1;
    object.metadata.resourceVersion = String(this.#revision);
    if (type === 'DELETED') collection.objects.delete(keyOf(object));
    else collection.objects.set(keyOf(object), object);
    const event = { type, object, revision: this.#revision };
    collection.history.push(event);
    for (const listener of [...collection.listeners]) listener(event);
    return object;
  }

  #collection(q: Qualified): Collection {
    const id = `${q.group}/${q.resource}`;
    let collection = this.#collections.get(id);
    if (collection === undefined) {
      collection = { objects: new Map(), history: [], listeners: new Set() };
      this.#collections.set(id, collection);
    }
    return collection;
  }
}

function mergeParts(old: ApiObject, input: Draft<ApiObject>, part: 'spec' | 'status' | 'all'): Draft<ApiObject> {
  const status = (object: object) => ('status' in object ? { status: object.status } : {});
  if (part === 'all') return input;
  if (part === 'status') return { ...copyJson(old), ...status(input) };
  const { status: _, ...rest } = input as Draft<ApiObject> & { status?: unknown };
  return { ...rest, ...structuredClone(status(old)) };
}

function specOf(object: ApiObject): unknown {
  const { metadata: _, status: __, ...rest } = object as ApiObject & { status?: unknown };
  return rest;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Throws 409 if the precondition's UID differs. */
function checkUid(q: Qualified, { metadata }: ApiObject, uid: string | undefined): void {
  if (uid === undefined || uid === '' || uid === metadata.uid) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  throw conflict(q, metadata.name ?? '', why);
}

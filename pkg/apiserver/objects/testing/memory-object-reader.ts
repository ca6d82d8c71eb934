/** A reader over plain objects, for tests. */

import type { ApiObjectShape } from '#api/meta/object.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { ResourceDeclaration, ResourceType } from '#apimachinery/schema/schema.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';

export class MemoryObjectReader implements ObjectReader {
  readonly #objects = new Map<string, Map<string, ApiObjectShape>>();
  readonly #followers = new Map<string, Set<Follower<ApiObjectShape>>>();

  put<T extends ApiObjectShape>(type: ResourceType<T>, ...objects: readonly T[]): void {
    for (const object of objects) {
      this.#of(type).set(keyOf(object), object);
      for (const follower of this.#followers.get(idOf(type)) ?? []) follower.changed(object);
    }
  }

  remove<T extends ApiObjectShape>(type: ResourceType<T>, namespace: string, name: string): void {
    const object = this.#of(type).get(keyFor(namespace, name));
    if (object === undefined) return;
    this.#of(type).delete(keyOf(object));
    for (const follower of this.#followers.get(idOf(type)) ?? []) follower.removed(object);
  }

  get<T extends ApiObjectShape>(type: ResourceType<T>, namespace: string, name: string): Promise<T | undefined> {
    return Promise.resolve(this.#of(type).get(keyFor(namespace, name)) as T | undefined);
  }

  outline<T extends ApiObjectShape>(type: ResourceType<T>, namespace: string, name: string): Promise<T | undefined> {
    return this.get(type, namespace, name);
  }

  list<T extends ApiObjectShape>(type: ResourceType<T>, namespace = ''): Promise<readonly T[]> {
    const all = [...this.#of(type).values()] as T[];
    return Promise.resolve(all.filter((object) => namespace === '' || object.metadata.namespace === namespace));
  }

  follow<T extends ApiObjectShape>(type: ResourceType<T>, follower: Follower<T>, signal: AbortSignal): Promise<void> {
    const id = idOf(type);
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers);
    const added = follower as Follower<ApiObjectShape>;
    followers.add(added);
    signal.addEventListener('abort', () => followers.delete(added), { once: true });
    const objects = [...this.#of(type).values()] as T[];
    follower.replaced?.(objects);
    if (follower.replaced === undefined) for (const object of objects) follower.changed(object);
    if (follower.replaced === undefined) follower.only?.(new Set(objects.map(keyOf)));
    return Promise.resolve();
  }

  #of(type: ResourceDeclaration): Map<string, ApiObjectShape> {
    const id = idOf(type);
    const objects = this.#objects.get(id) ?? new Map<string, ApiObjectShape>();
    this.#objects.set(id, objects);
    return objects;
  }
}

const idOf = (type: ResourceDeclaration): string => `${type.group}/${type.resource}`;

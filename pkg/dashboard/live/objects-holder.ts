/** Whole objects of a small collection. */
import type { Holder } from '#dashboard/live/source.js';
import type { ApiObject } from '#dashboard/model/api-object.js';

/** More objects are left out, so that no page holds a whole cluster. */
const maxObjects = 5000;

export class ObjectsHolder implements Holder {
  readonly accept = 'application/json';
  readonly objects = new Map<string, ApiObject>();
  #listed: Set<string> | undefined;

  begin(): void {
    this.#listed = new Set();
  }

  page(document: unknown): void {
    for (const object of (document as { readonly items?: readonly ApiObject[] | null }).items ?? []) {
      this.#listed?.add(keyOf(object));
      this.#set(object);
    }
  }

  end(): void {
    for (const key of this.objects.keys()) if (this.#listed?.has(key) === false) this.objects.delete(key);
    this.#listed = undefined;
  }

  event(type: string, object: unknown): void {
    const changed = object as ApiObject;
    if (type === 'DELETED') this.objects.delete(keyOf(changed));
    else this.#set(changed);
  }

  #set(object: ApiObject): void {
    const key = keyOf(object);
    if (this.objects.size < maxObjects || this.objects.has(key)) this.objects.set(key, object);
  }
}

function keyOf({ metadata: { namespace = '', name = '' } }: ApiObject): string {
  return `${namespace}/${name}`;
}

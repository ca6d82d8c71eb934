/** Informers over lists that do not change: what reads informers can read a snapshot. */
import { keyOf } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import type { EventHandler, Informer, InformerFactory } from '#client/informer/informer.js';
import { Store } from '#client/informer/store.js';

class ListedInformer<T extends ApiObject> extends Store<T> implements Informer<T> {
  readonly lastVersion = '';

  hasSynced(): boolean {
    return true;
  }

  async whenSynced(): Promise<void> {}

  /** Tells of what is there; nothing follows. */
  addHandler({ onAdd }: EventHandler<T>): () => void {
    if (onAdd !== undefined) for (const object of this.list()) onAdd(object, true);
    return () => undefined;
  }
}

export class ListedInformers implements InformerFactory {
  readonly client: Client;
  readonly #informers = new Map<string, ListedInformer<ApiObject>>();

  constructor(client: Client) {
    this.client = client;
  }

  informer<T extends ApiObject>(type: ResourceType<T>): Informer<T> {
    return this.#of(type);
  }

  existing<T extends ApiObject>(type: ResourceType<T>): Informer<T> {
    return this.#of(type);
  }

  fill<T extends ApiObject>(type: ResourceType<T>, objects: readonly T[]): void {
    const informer = this.#of(type);
    for (const object of objects) informer.set(keyOf(object), object);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  waitForSync(): Promise<void> {
    return Promise.resolve();
  }

  #of<T extends ApiObject>({ group, resource }: ResourceType<T>): ListedInformer<T> {
    const key = `${resource}.${group}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = new ListedInformer<ApiObject>();
      this.#informers.set(key, informer);
    }
    // The key names the type.
    return informer as unknown as ListedInformer<T>;
  }
}

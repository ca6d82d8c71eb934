/** An object of the API, kept current by its own watch. */
import { type Clock, processClock } from '#apimachinery/clock.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client, WatchEvent } from '#client/client.js';
import { noReflectorMetrics } from '#client/informer/metrics.js';
import { Reflector } from '#client/informer/reflector.js';
import type { Logger } from '#daemon/log/logger.js';

export interface WatchedObjectOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Capabilities of the server, shared by all objects of one agent. */
  readonly server: { streams: boolean };
  readonly onChange: () => void;
}

/** ConfigMaps and Secrets may be immutable. */
export type Referable = ApiObject & { readonly immutable?: boolean };

export interface ObjectLocation {
  readonly namespace: string;
  readonly name: string;
}

/** How long a pod's start waits for the first answer before it is retried. */
const firstAnswerMs = 5000;

export class WatchedObject<T extends Referable> {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #stop = new AbortController();
  readonly #first: Promise<void>;
  #resolveFirst: () => void = () => undefined;
  #object: T | undefined;
  #synced = false;

  constructor(type: ResourceType<T>, place: ObjectLocation, options: WatchedObjectOptions) {
    const { client, clock, random, log, server } = options;
    this.#clock = clock;
    this.#onChange = options.onChange;
    this.#first = new Promise((resolve) => {
      this.#resolveFirst = resolve;
    });
    const reflector = new Reflector<T>({
      client: client.resource(type),
      scope: { namespace: place.namespace, fieldSelector: `metadata.name=${place.name}` },
      sink: {
        take: (object) => object,
        replace: (objects) => this.#set(objects[0]),
        apply: (event: WatchEvent<T>) => {
          if (event.type === 'BOOKMARK') return;
          this.#set(event.type === 'DELETED' ? undefined : event.object);
        },
      },
      // One request per object instead of list and watch.
      initialEventsEnd: server.streams ? client.dialect.bookmarkAnnotation : undefined,
      onCannotStream: () => {
        server.streams = false;
      },
      ...{ clock, random, log },
      metrics: noReflectorMetrics,
    });
    void reflector.run(this.#stop.signal);
  }

  #set(object: T | undefined): void {
    const changed = this.#synced && this.#object?.metadata.resourceVersion !== object?.metadata.resourceVersion;
    this.#object = object;
    this.#synced = true;
    this.#resolveFirst();
    if (changed) this.#onChange();
    // Immutable objects need no watch.
    if (object?.immutable === true) this.close();
  }

  /** Undefined if the object does not exist; rejects if the API does not answer in time. */
  async get(): Promise<T | undefined> {
    if (!this.#synced) {
      const over = new AbortController();
      const signal = AbortSignal.any([over.signal, this.#stop.signal]);
      await Promise.race([this.#first, processClock(this.#clock).sleep(firstAnswerMs, signal)]);
      over.abort();
    }
    if (!this.#synced) throw new Error('timed out waiting for the condition');
    return this.#object;
  }

  close(): void {
    this.#stop.abort();
  }
}

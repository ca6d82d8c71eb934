/** Shares informers among the parts of a daemon. */

import type { Registry } from 'prom-client';
import type { OwnMetadata } from '#api/meta/object.js';
import { allowManyListeners } from '#apimachinery/async/abort.js';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import type { Informer, InformerFactory, InformerOptions } from '#client/informer/informer.js';
import { reflectorMetrics } from '#client/informer/metrics.js';
import { type Peer, SharedInformer } from '#client/informer/shared-informer.js';
import type { Logger } from '#daemon/log/logger.js';

export interface SharedInformerFactoryOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics?: Registry;
  /** Period after which handlers receive all objects again, randomized up to twice as long; 0 or absent: never. */
  readonly resyncMs?: number;
  /** Whether to stream initial states instead of listing, if the server supports it. */
  readonly streamInitialState?: boolean;
  /** Default transform of informers, e.g. to drop managedFields. */
  readonly transform?: <T extends ApiObject>(object: T & OwnMetadata) => T;
}

/** How far an informer is. */
export interface InformerState {
  /** `<group>/<version>/<resource>`. */
  readonly resource: string;
  /** It holds all objects of the resource, so that each change of it reaches the informer. */
  readonly isWhole: boolean;
  readonly hasSynced: boolean;
  /** See `Informer`. */
  readonly lastVersion: string;
}

interface Entry {
  readonly resource: string;
  readonly isWhole: boolean;
  readonly informer: {
    readonly lastVersion: string;
    hasSynced(): boolean;
    whenSynced(): Promise<void>;
    run(signal: AbortSignal): Promise<void>;
  };
  readonly transform: unknown;
  readonly shared: unknown;
}

export class SharedInformerFactory implements InformerFactory {
  readonly client: Client;
  readonly #options: SharedInformerFactoryOptions;
  readonly #entries = new Map<string, Entry>();
  /** All informers of each resource. */
  readonly #byResource = new Map<string, Peer[]>();
  readonly #running = new Set<Promise<void>>();
  /** Rejects when an informer ends unexpectedly. */
  readonly #failed = deferred();
  #signal: AbortSignal | undefined;

  constructor(options: SharedInformerFactoryOptions) {
    this.client = options.client;
    this.#options = options;
  }

  /**
   * Returns the shared informer for the resource, namespace and selectors, and adds the indexers to it. A different
   * transform gets a separate informer.
   */
  informer<T extends ApiObject>(type: ResourceType<T>, options: InformerOptions<T> = {}): Informer<T> {
    const { transform, indexers } = options;
    const id = idOf(type, options);
    for (let copy = 0; ; copy += 1) {
      const entry = this.#entries.get(`${id}#${copy}`);
      if (entry === undefined) return this.#create(`${id}#${copy}`, type, options);
      if (entry.transform !== transform) continue;
      const informer = entry.shared as SharedInformer<T>;
      if (indexers !== undefined) informer.addIndexers(indexers);
      return informer;
    }
  }

  existing<T extends ApiObject>(type: ResourceType<T>): Informer<T> | undefined {
    // The first copy has a transform only if its first caller passed one.
    const entry = this.#entries.get(`${idOf(type)}#0`);
    return entry === undefined || entry.transform !== undefined ? undefined : (entry.shared as SharedInformer<T>);
  }

  /** Started, and not stopped yet. */
  get isRunning(): boolean {
    return this.#signal !== undefined && !this.#signal.aborted;
  }

  /** The state of each informer. */
  *states(): Generator<InformerState> {
    for (const { resource, isWhole, informer } of this.#entries.values()) {
      yield { resource, isWhole, hasSynced: informer.hasSynced(), lastVersion: informer.lastVersion };
    }
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#signal !== undefined) throw new TypeError('informers can be started once only');
    this.#signal = allowManyListeners(signal);
    for (const { informer } of this.#entries.values()) this.#run(informer, signal);
    const stopped = deferred();
    if (signal.aborted) stopped.resolve();
    else signal.addEventListener('abort', () => stopped.resolve(), { once: true });
    await Promise.race([stopped.promise, this.#failed.promise]);
    await Promise.all(this.#running);
  }

  async waitForSync(signal?: AbortSignal): Promise<void> {
    const synced = Promise.all([...this.#entries.values()].map(({ informer }) => informer.whenSynced()));
    if (signal === undefined) {
      await synced;
      return;
    }
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      synced.then(() => {
        signal.removeEventListener('abort', abort);
        resolve();
      }, reject);
    });
  }

  #create<T extends ApiObject>(id: string, type: ResourceType<T>, options: InformerOptions<T>): Informer<T> {
    const { client, clock, random, log, metrics, resyncMs = 0, streamInitialState = false } = this.#options;
    const transform = options.transform ?? this.#options.transform;
    const name = `${type.group}/${type.version}/${type.resource}`;
    const peers = this.#byResource.get(name) ?? [];
    this.#byResource.set(name, peers);
    const informer = new SharedInformer<T>(
      type,
      { ...options, ...(transform === undefined ? {} : { transform }) },
      {
        client,
        clock,
        random,
        log,
        streamInitialState,
        peers,
        // Random periods spread the resyncs.
        resyncMs: resyncMs * (1 + random()),
        ...(metrics === undefined
          ? {}
          : { metrics: (size: () => number) => reflectorMetrics(metrics, type.resource, size) }),
      },
    );
    peers.push(informer);
    const { namespace = '', labelSelector = '', fieldSelector = '' } = options;
    const isWhole = `${namespace}${labelSelector}${fieldSelector}` === '';
    this.#entries.set(id, { resource: name, isWhole, informer, transform: options.transform, shared: informer });
    if (this.#signal !== undefined) this.#run(informer, this.#signal);
    return informer;
  }

  #run(informer: Entry['informer'], signal: AbortSignal): void {
    if (signal.aborted) return;
    const running = informer
      .run(signal)
      .catch((error: unknown) => this.#failed.reject(error))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }
}

function idOf<T extends ApiObject>(type: ResourceType<T>, options: InformerOptions<T> = {}): string {
  const { namespace = '', labelSelector = '', fieldSelector = '' } = options;
  return JSON.stringify([type.group, type.version, type.resource, namespace, labelSelector, fieldSelector]);
}

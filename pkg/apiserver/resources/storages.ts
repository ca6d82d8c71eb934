/**
 * The cached storage of every resource that has objects. Made before the API server, because authentication,
 * authorization and admission read from the same caches. Versions and groups that share a stored form share a cache.
 */

import { setMaxListeners } from 'node:events';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import { hasNulls, withoutNulls } from '#apimachinery/codec/json/empty-members.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import { LazyStorage } from '#apiserver/resources/lazy-storage.js';
import type { Logger } from '#daemon/log/logger.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { type Decode, decodeJson } from '#storage/cache/cache-entry.js';
import { readHistory } from '#storage/cache/read-history.js';
import { WatchCache } from '#storage/cache/watch-cache.js';
import type { ValueTransformer } from '#storage/encryption/transformer.js';
import { forgetResource, type StorageMetrics } from '#storage/metrics.js';
import { Packing } from '#storage/packing/packing.js';
import type { Counted } from '#storage/poll-metrics.js';
import type { ResourceStorage } from '#storage/resource-storage.js';
import { ResourceStores } from '#storage/resource-stores.js';
import { SplitStore } from '#storage/split-store.js';
import { type Store, StoreError } from '#storage/store.js';

export interface ResourceStoragesOptions {
  readonly dialect: Dialect;
  /** One for everything, or one for each resource. */
  readonly store: Store | ResourceStores;
  readonly clock: Clock;
  readonly turns: TurnQueue;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
  /** `/registry`. */
  readonly prefix?: string;
  /** How often caches that have changed compare themselves with the store; absent: as caches do by themselves. */
  readonly selfCheckPeriodMs?: number;
  /** Parses served bytes; absent: JSON as it is. */
  readonly decode?: Decode;
  /** How values are stored, by the resource's name with its group (`secrets`, `deployments.apps`); others are stored as they are. */
  readonly transformers?: ReadonlyMap<string, ValueTransformer>;
  /** True when the feature gate is on; absent: as the release has them. Resources of features that are off are not kept. */
  readonly gate?: (name: string) => boolean;
}

interface Stored {
  readonly cache: WatchCache;
  readonly form: ResourceInfo;
}

export class ResourceStorages {
  readonly stores: ResourceStores;
  /** By the resource's plural name, which is unique among stored resources. */
  readonly #stored: ReadonlyMap<string, Stored>;
  readonly #stop = new AbortController();
  readonly #root: string;
  /** Makes the cache of a custom resource. */
  readonly #makeCustom: (group: string, resource: string, prefix: string) => WatchCache;
  /** Those of custom resources, by their qualified names. */
  readonly #custom = new Map<string, LazyStorage>();
  readonly #metrics: StorageMetrics;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(options: ResourceStoragesOptions) {
    const { store, prefix = '/registry', transformers, gate, decode = decodeJson, ...rest } = options;
    this.stores = store instanceof ResourceStores ? store : new ResourceStores(store);
    this.#root = prefix;
    this.#metrics = options.metrics;
    this.#clock = options.clock;
    this.#log = options.log;
    // Every cache listens to it.
    setMaxListeners(0, this.#stop.signal);
    const packing = new Packing();
    this.#makeCustom = (group, name, own) => {
      const resource = `${name}.${group}`;
      const transformer = transformers?.get(resource);
      const place = { store: this.#storeFor(group, name), prefix: own };
      const countedAs = `/${group}/${name}`;
      return new WatchCache({ ...rest, ...place, resource, countedAs, transformer, packing, decode });
    };
    const versions = new Map<string, ResourceInfo[]>();
    for (const info of schemeFor(options.dialect).resources) {
      const { resource: name, verbs } = info.declaration;
      if (!isServed(info.declaration, gate)) continue;
      if (verbs.includes('list') && strategyFor(info.declaration).computed !== true)
        versions.set(name, [...(versions.get(name) ?? []), info]);
    }
    this.#stored = new Map(
      [...versions].map(([name, infos]) => {
        const form = storedForm(name, infos);
        const resource = qualified(name, form);
        const transformer = transformers?.get(resource);
        const place = { store: this.#storeFor(form.groupName, name), prefix: `${prefix}/${name}/` };
        const strategy = strategyFor(form.declaration);
        const bulk = strategy.bulk?.(options.dialect);
        const upgraded =
          strategy.upgraded && ((stored: Buffer) => strategy.upgraded?.(stored, options.dialect) ?? stored);
        const own = { ...place, resource, transformer, awaitsHistory: true, bulk, upgraded };
        return [name, { form, cache: new WatchCache({ ...rest, ...own, packing, decode: decodeOf(form, decode) }) }];
      }),
    );
  }

  /** The storage of a resource that has objects; undefined for operations such as `tokenreviews`. */
  find(declaration: ResourceDeclaration): ResourceStorage | undefined {
    // Other groups may call what they make up as this one calls what it keeps: metrics do.
    return strategyFor(declaration).computed === true ? undefined : this.#stored.get(declaration.resource)?.cache;
  }

  /** The same for resources that are known to have objects. Throws a RangeError for others. */
  storageOf(declaration: ResourceDeclaration): ResourceStorage {
    const storage = this.find(declaration);
    if (storage === undefined) throw new RangeError(`${declaration.resource} have no objects`);
    return storage;
  }

  /**
   * The storage of a custom resource, whose cache is made when it is first asked for. Ends with these storages, or when it
   * is closed.
   */
  custom(group: string, resource: string): LazyStorage {
    const prefix = `${this.#root}/${group}/${resource}/`;
    const make = () => this.#makeCustom(group, resource, prefix);
    const qualified = `${resource}.${group}`;
    const storage = new LazyStorage({
      prefix,
      make,
      stopped: this.#stop.signal,
      ended: () => {
        // Where there is another one of that name by now, the series are its own.
        if (this.#custom.get(qualified) !== storage) return;
        this.#custom.delete(qualified);
        forgetResource(this.#metrics, qualified, `/${group}/${resource}`);
      },
    });
    this.#custom.set(qualified, storage);
    return storage;
  }

  /** The store that has that key, as far as it is one of a built-in resource; the main one has all others. */
  storeAt(key: string): Store {
    const start = this.#root.length + 1;
    if (!key.startsWith(`${this.#root}/`)) return this.stores.main;
    const name = key.slice(start, key.indexOf('/', start));
    const stored = this.#stored.get(name);
    return stored === undefined ? this.stores.main : this.stores.of(stored.form.groupName, name);
  }

  /** For the cache of that resource. */
  #storeFor(group: string, resource: string): Store {
    const store = this.stores.of(group, resource);
    if (this.stores.others.length === 0) return store;
    return new SplitStore(store, { storeOf: (key) => this.storeAt(key), log: this.#log });
  }

  /**
   * Compares every filled cache with the store, each at one revision; the resources that differ. What the store cannot
   * tell now counts as equal.
   */
  async selfCheck(): Promise<string[]> {
    const results = [...this.#stored].map(async ([name, { cache }]) => {
      try {
        return cache.ready() && !(await cache.selfCheck()) ? [name] : [];
      } catch (err) {
        if (err instanceof StoreError || this.#stop.signal.aborted) return [];
        throw err;
      }
    });
    return (await Promise.all(results)).flat();
  }

  /** The caches, for the metrics. */
  counted(): readonly Counted[] {
    return [...this.#stored.values()].map(({ cache }) => cache);
  }

  /** Those of the names (`secrets`, `deployments.apps`) that no stored resource has. */
  unknown(names: Iterable<string>): string[] {
    const known = new Set([...this.#stored].map(([name, { form }]) => qualified(name, form)));
    return [...names].filter((name) => !known.has(name));
  }

  /** The version that a resource's objects are stored as; undefined for resources without objects. */
  storedForm(declaration: ResourceDeclaration): ResourceInfo | undefined {
    return strategyFor(declaration).computed === true ? undefined : this.#stored.get(declaration.resource)?.form;
  }

  /** Fills the caches and follows the store; resolves when `signal` aborts or `close` is called. */
  async start(signal: AbortSignal): Promise<void> {
    const stop = () => this.#stop.abort();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    await Promise.all([
      ...[...this.#stored.values()].map(({ cache }) => cache.start(this.#stop.signal)),
      this.#readHistory(this.#stop.signal),
    ]);
    signal.removeEventListener('abort', stop);
  }

  /** Lets watches go on that began at a server before this one. */
  async #readHistory(signal: AbortSignal): Promise<void> {
    await this.waitReady(signal).catch((err: unknown) => {
      if (!signal.aborted) throw err;
    });
    const caches = [...this.#stored.values()].map(({ cache }) => cache);
    const options = { root: this.#root, clock: this.#clock, log: this.#log };
    await Promise.all(
      this.stores.all.map((store) => {
        const receivers = caches.filter(({ prefix }) => this.storeAt(prefix) === store);
        return readHistory({ ...options, store, receivers }, signal);
      }),
    );
  }

  async waitReady(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#stored.values()].map(({ cache }) => cache.waitReady(signal)));
  }

  /** Names of resources whose cache is not filled yet. */
  notReady(): string[] {
    return [...this.#stored].filter(([, { cache }]) => !cache.ready()).map(([name]) => name);
  }

  /** Ends the caches and their watches. The stores stay open: they are the caller's. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#stored.values()].map(({ cache }) => cache.close()));
  }
}

/** Objects in memory have no nulls where those of 1.24 have them. */
function decodeOf({ type }: ResourceInfo, decode: Decode): Decode {
  return hasNulls(type) ? (json) => withoutNulls(type, decode(json)) : decode;
}

/** `secrets`, `deployments.apps`. */
function qualified(name: string, form: ResourceInfo): string {
  return form.groupName === '' ? name : `${name}.${form.groupName}`;
}

/** The version that the others are stored as. */
function storedForm(name: string, infos: readonly ResourceInfo[]): ResourceInfo {
  const found = infos.filter(({ declaration }) => declaration.storedAs === undefined);
  const [stored] = found;
  if (stored === undefined || found.length > 1) throw new RangeError(`${name}: ${found.length} stored versions`);
  return stored;
}

/** Resources that are there only while the gate of their feature is on. */

/** `gate` is true for gates that are on; absent: they are as the release has them. */
export function isServed(
  { featureGate }: ResourceDeclaration,
  gate: (name: string) => boolean = (name) => new FeatureGates().enabled(name as FeatureGateName),
): boolean {
  return featureGate === undefined || gate(featureGate);
}

/**
 * The cached storage of every resource with objects. Created before the API server, because authentication, authorization and
 * admission read the same caches. Versions and groups with the same stored form share a cache.
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
import { type Revision, type Store, StoreError } from '#storage/store.js';

export interface ResourceStoragesOptions {
  readonly dialect: Dialect;
  /** One store, or one per resource. */
  readonly store: Store | ResourceStores;
  readonly clock: Clock;
  readonly turns: TurnQueue;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: StorageMetrics;
  /** Root of all keys: `/registry`. */
  readonly prefix?: string;
  /** Interval at which changed caches compare themselves with the store; absent: the cache's default. */
  readonly selfCheckPeriodMs?: number;
  /** Parses served bytes; absent: as plain JSON. */
  readonly decode?: Decode;
  /** How values are stored, by resource and group (`secrets`, `deployments.apps`); other values are stored unchanged. */
  readonly transformers?: ReadonlyMap<string, ValueTransformer>;
  /** True when the feature gate is on; absent: the release's defaults. Resources of disabled features are not stored. */
  readonly gate?: (name: string) => boolean;
}

interface Stored {
  readonly cache: WatchCache;
  readonly form: ResourceInfo;
  /** Groups that serve the objects. */
  readonly groups: ReadonlySet<string>;
}

export class ResourceStorages {
  readonly stores: ResourceStores;
  /** By the resource's plural name, which is unique among stored resources. */
  readonly #stored: ReadonlyMap<string, Stored>;
  readonly #stop = new AbortController();
  readonly #root: string;
  /** Creates the cache of a custom resource. */
  readonly #makeCustom: (group: string, resource: string, prefix: string) => WatchCache;
  /** Custom resources, by qualified name. */
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
    // Every cache listens to this signal.
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
        const ownOptions = { ...place, resource, transformer, awaitsHistory: true, bulk, upgraded };
        return [
          name,
          {
            form,
            groups: new Set(infos.map(({ groupName }) => groupName)),
            cache: new WatchCache({ ...rest, ...ownOptions, packing, decode: decodeOf(form, decode) }),
          },
        ];
      }),
    );
  }

  /** The storage of a resource with objects; undefined for operations such as `tokenreviews`. */
  find(declaration: ResourceDeclaration): ResourceStorage | undefined {
    // A computed resource may have the name of a stored one in another group, as the metrics of pods do.
    return strategyFor(declaration).computed === true ? undefined : this.#stored.get(declaration.resource)?.cache;
  }

  /** As `find`; throws a RangeError for resources without objects. */
  storageOf(declaration: ResourceDeclaration): ResourceStorage {
    const storage = this.find(declaration);
    if (storage === undefined) throw new RangeError(`${declaration.resource} have no objects`);
    return storage;
  }

  /** The storage of a custom resource, whose cache is created on first use. Ends with these storages, or when it is closed. */
  custom(group: string, resource: string): LazyStorage {
    const prefix = `${this.#root}/${group}/${resource}/`;
    const make = () => this.#makeCustom(group, resource, prefix);
    const qualified = `${resource}.${group}`;
    const storage = new LazyStorage({
      prefix,
      make,
      stopped: this.#stop.signal,
      ended: () => {
        // A newer storage of the same name now owns the series.
        if (this.#custom.get(qualified) !== storage) return;
        this.#custom.delete(qualified);
        forgetResource(this.#metrics, qualified, `/${group}/${resource}`);
      },
    });
    this.#custom.set(qualified, storage);
    return storage;
  }

  /** The store of a built-in resource's key; all other keys are in the main store. */
  storeAt(key: string): Store {
    const start = this.#root.length + 1;
    if (!key.startsWith(`${this.#root}/`)) return this.stores.main;
    const name = key.slice(start, key.indexOf('/', start));
    const stored = this.#stored.get(name);
    return stored === undefined ? this.stores.main : this.stores.of(stored.form.groupName, name);
  }

  /** The store for a resource's cache. */
  #storeFor(group: string, resource: string): Store {
    const store = this.stores.of(group, resource);
    if (this.stores.others.length === 0) return store;
    return new SplitStore(store, { storeOf: (key) => this.storeAt(key), log: this.#log });
  }

  /**
   * Compares every filled cache with the store, each at one revision; returns the resources that differ. A store that is
   * unavailable counts as equal.
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

  /** The caches, for metrics. */
  counted(): readonly Counted[] {
    return [...this.#stored.values()].map(({ cache }) => cache);
  }

  /** Objects of a resource; undefined where it is not stored here, or not read yet. */
  sizeOf(group: string, resource: string): number | undefined {
    const stored = this.#stored.get(resource);
    if (stored?.groups.has(group) === true) return stored.cache.size;
    return this.#custom.get(`${resource}.${group}`)?.size;
  }

  /** Revision of the last change of a built-in resource; undefined where it is not stored here. */
  changedAt(group: string, resource: string): Revision | undefined {
    const stored = this.#stored.get(resource);
    return stored?.groups.has(group) === true ? stored.cache.changedAt : undefined;
  }

  /** The revision up to which all caches of built-in resources are complete. */
  get completeAt(): Revision {
    let complete: Revision | undefined;
    for (const { cache } of this.#stored.values())
      if (complete === undefined || cache.revision < complete) complete = cache.revision;
    return complete ?? 0n;
  }

  /** The names (`secrets`, `deployments.apps`) that no stored resource has. */
  unknown(names: Iterable<string>): string[] {
    const stored = new Set([...this.#stored].map(([name, { form }]) => qualified(name, form)));
    return [...names].filter((name) => !stored.has(name));
  }

  /** The version in which a resource's objects are stored; undefined for resources without objects. */
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

  /** Reads the recent history, so that watches that began on another server can resume here. */
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

  /** Ends the caches and their watches. The stores stay open for the caller. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#stored.values()].map(({ cache }) => cache.close()));
  }
}

/** Adds the nulls that 1.24 has and objects in memory lack. */
function decodeOf({ type }: ResourceInfo, decode: Decode): Decode {
  return hasNulls(type) ? (json) => withoutNulls(type, decode(json)) : decode;
}

/** Name with group: `secrets`, `deployments.apps`. */
function qualified(name: string, form: ResourceInfo): string {
  return form.groupName === '' ? name : `${name}.${form.groupName}`;
}

/** The version in which all versions' objects are stored. */
function storedForm(name: string, infos: readonly ResourceInfo[]): ResourceInfo {
  const candidates = infos.filter(({ declaration }) => declaration.storedAs === undefined);
  const [stored] = candidates;
  if (stored === undefined || candidates.length > 1)
    throw new RangeError(`${name}: ${candidates.length} stored versions`);
  return stored;
}

/** False for resources of disabled features. `gate` is true for enabled ones; absent: the release's defaults. */
export function isServed(
  { featureGate }: ResourceDeclaration,
  gate: (name: string) => boolean = (name) => new FeatureGates().enabled(name as FeatureGateName),
): boolean {
  return featureGate === undefined || gate(featureGate);
}

/** Serves the resources of custom resource definitions as these are created, changed and deleted. */
import { isEstablished, isTerminating } from '#api/apiextensions/v1/customresourcedefinition/conditions.js';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { Patterns } from '#apimachinery/patterns/pattern.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { StoredForms } from '#apiserver/customresources/conversion.js';
import { CustomKind } from '#apiserver/customresources/custom-kind.js';
import { ExceededBounds } from '#apiserver/customresources/exceeded-bounds.js';
import { ServedCustomResource } from '#apiserver/customresources/served-custom-resource.js';
import type { ConversionWebhooks } from '#apiserver/customresources/webhook-conversion.js';
import type { RequestMetrics } from '#apiserver/http/request-metrics.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import { LargeViews } from '#apiserver/resources/large-views.js';
import type { LazyStorage } from '#apiserver/resources/lazy-storage.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Entry } from '#storage/resource-storage.js';

export interface CustomResourcesOptions {
  readonly scheme: Scheme;
  readonly table: ResourceTable;
  readonly storages: ResourceStorages;
  readonly reader: ObjectReader;
  readonly log: Logger;
  readonly webhooks: ConversionWebhooks;
  readonly metrics: Pick<RequestMetrics, 'forget'>;
}

interface Served {
  readonly uid: string;
  /** Identifies the served state, to detect relevant changes of the definition. */
  readonly edition: string;
  /** Identifies the objects' form, as watchers see it. */
  readonly form: string;
  readonly resources: readonly ServedCustomResource[];
  readonly storage: LazyStorage;
}

export class CustomResources implements Follower<CustomResourceDefinition> {
  /** Schemas are read only when objects are requested. */
  readonly outlines = true;
  /** The definitions that add more to their objects than they may. */
  readonly exceeded = new ExceededBounds();
  readonly #options: CustomResourcesOptions;
  readonly #views = new LargeViews();
  readonly #served = new Map<string, Served>();
  /** Latest revision of each definition seen: other sources may be older. */
  readonly #revisions = new Map<string, bigint>();
  readonly #patterns = new Patterns();
  #synced = false;
  /** True if definitions are disabled. */
  #off = false;

  constructor(options: CustomResourcesOptions) {
    this.#options = options;
  }

  /** False until all definitions are read. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Follows the definitions until the signal aborts. Resolves once the first state is served. */
  start(signal: AbortSignal): Promise<void> {
    return this.#options.reader.follow(customresourcedefinitions, this, signal);
  }

  /** See `DefinitionCache`. */
  async catchUp(name: string | undefined, signal: AbortSignal): Promise<void> {
    if (this.#off) return;
    const storage = this.#options.storages.storageOf(customresourcedefinitions);
    const version = { kind: 'latest' } as const;
    // An invalid name cannot be a definition's.
    if (name !== undefined && pathSegmentErrors(name).length > 0) return;
    // Reading any key brings the cache up to date with the store.
    const entry = await storage.get(name ?? '', version, signal);
    const entries = name === undefined ? storage.cachedIn('') : entry === undefined ? [] : [entry];
    for (const entry of entries) this.#look(storage.prefix, entry);
  }

  /** Catches up with all definitions; while the store is away, continues with those already read. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    if (!this.#synced) return;
    try {
      await this.catchUp(undefined, signal);
    } catch (err) {
      if (signal.aborted) throw err;
      this.#options.log.debug({ err }, 'cannot read the latest custom resource definitions');
    }
  }

  /** Skips unchanged definitions, which are most, without parsing them. */
  #look(prefix: string, entry: Entry): void {
    const latest = this.#revisions.get(entry.key.slice(prefix.length));
    if (latest === undefined || latest < entry.revision) this.changed(entry.outline() as CustomResourceDefinition);
  }

  /** Serves no custom resources: definitions are disabled. */
  leave(): Promise<void> {
    this.#off = true;
    this.#synced = true;
    return Promise.resolve();
  }

  only(names: ReadonlySet<string>): void {
    for (const name of [...this.#revisions.keys()]) {
      if (names.has(name)) continue;
      this.#revisions.delete(name);
      this.#drop(name);
    }
    this.#synced = true;
  }

  changed(definition: CustomResourceDefinition): void {
    const { name = '', uid = '' } = definition.metadata;
    const revision = revisionOf(definition);
    if (revision < (this.#revisions.get(name) ?? 0n)) return;
    this.#revisions.set(name, revision);
    if (!isEstablished(definition)) {
      this.#drop(name);
      return;
    }
    const edition = editionOf(definition);
    let old = this.#served.get(name);
    if (old !== undefined && old.uid !== uid) {
      this.#drop(name);
      old = undefined;
    }
    if (old?.edition === edition) return;
    const { storages } = this.#options;
    const storage = old?.storage ?? storages.custom(definition.spec.group, definition.spec.names.plural);
    const resources = this.#resources(definition, storage, edition);
    this.#replace(old?.resources ?? [], resources);
    const form = formOf(definition);
    this.#served.set(name, { uid, edition, form, resources, storage });
    if (old?.form !== form) for (const resource of old?.resources ?? []) resource.retire();
  }

  removed(definition: CustomResourceDefinition): void {
    const { name = '' } = definition.metadata;
    // A new definition with that name may have been read already.
    if (revisionOf(definition) < (this.#revisions.get(name) ?? 0n)) return;
    this.#revisions.delete(name);
    this.#drop(name);
  }

  #drop(name: string): void {
    const served = this.#served.get(name);
    if (served === undefined) return;
    this.#served.delete(name);
    this.exceeded.forget(name);
    this.#replace(served.resources, []);
    this.#options.webhooks.metrics.forget(name);
    served.storage.close().catch((err: unknown) => {
      this.#options.log.warn({ err, definition: name }, 'could not close the storage of a custom resource');
    });
  }

  #replace(old: readonly ServedCustomResource[], added: readonly ServedCustomResource[]): void {
    const { table, metrics } = this.#options;
    table.replace(old, added);
    for (const { group, declaration } of old) {
      const { version, resource, kind } = declaration;
      if (table.find(group, version, resource) === undefined) metrics.forget({ group, version, resource }, kind);
    }
  }

  #resources(definition: CustomResourceDefinition, storage: LazyStorage, edition: string): ServedCustomResource[] {
    const { scheme, webhooks } = this.#options;
    const current = this.#definitionReader(definition.metadata.name ?? '');
    const { exceeded } = this;
    const kind = new CustomKind({ definition, current, scheme, patterns: this.#patterns, exceeded });
    const forms = new StoredForms(kind, this.#views);
    const terminating = isTerminating(definition);
    return definition.spec.versions
      .filter(({ served }) => served)
      .map((version) => {
        const options = { definition, version, kind, forms, storage, isTerminating: terminating, edition, webhooks };
        return new ServedCustomResource(options);
      });
  }

  /**
   * Reads a definition's latest state. Created where no definition is in scope: closures that share a scope keep each other's
   * variables alive.
   */
  #definitionReader(name: string): () => CustomResourceDefinition | undefined {
    const definitions = this.#options.storages.storageOf(customresourcedefinitions);
    return () => definitions.cached(name)?.object() as CustomResourceDefinition | undefined;
  }
}

/** Changes whenever serving must change: with the spec's generation and the accepted names. */
function editionOf(definition: CustomResourceDefinition): string {
  return `${formOf(definition)} ${isTerminating(definition)}`;
}

/** Ignores the deletion state: watchers must see the objects of a deleted definition go. */
function formOf({ metadata, status, spec }: CustomResourceDefinition): string {
  return `${metadata.uid} ${metadata.generation} ${JSON.stringify(status?.acceptedNames ?? spec.names)}`;
}

function revisionOf({ metadata }: CustomResourceDefinition): bigint {
  return BigInt(metadata.resourceVersion ?? '0');
}

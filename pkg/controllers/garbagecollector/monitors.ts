/** Watches all deletable resources and updates the graph. */

import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Replaceable } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import type { EventHandler } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { discoverResources } from '#controllers/framework/discovery.js';
import { cacheOf, type ResourceCache } from '#controllers/framework/resource-cache.js';
import { type Graph, groupOf, type ObjectFacts } from '#controllers/garbagecollector/graph.js';

interface Monitor extends Pick<ResourceCache, 'synced' | 'stop'> {
  readonly type: ResourceType<ApiObject>;
}

export class Monitors {
  readonly #context: ControllerContext;
  readonly #graph: Graph;
  readonly #monitors = new Map<string, Monitor>();

  constructor(context: ControllerContext, graph: Graph) {
    this.#context = context;
    this.#graph = graph;
  }

  /** Starts watches of new resources and stops watches of removed ones. Throws when discovery fails. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { client, dialect } = this.#context;
    const { resources, failures } = await discoverResources(client, signal);
    const served = new Map<string, ResourceType<ApiObject>>();
    for (const type of resources) {
      // Events have no owners or dependents, and there are many of them.
      if (type.resource === 'events') continue;
      if (!['delete', 'list', 'watch'].every((verb) => type.verbs.includes(verb))) continue;
      served.set(idOf(dialect.apiVersion(type.group, type.version), type.kind), type);
    }
    for (const [id, monitor] of this.#monitors) {
      const group = dialect.apiVersion(monitor.type.group, monitor.type.version);
      // An unavailable group still has its resources.
      if (!served.has(id) && !failures.has(group)) await this.#stop(id, monitor);
    }
    for (const [id, type] of served) if (!this.#monitors.has(id)) this.#start(id, type, signal);
    if (failures.size > 0) {
      this.#context.log.warn(
        { groups: [...failures.keys()] },
        'discovery failed for some groups, their garbage is not collected',
      );
    }
  }

  /** Resolves when all watched resources are listed, or when `signal` aborts. */
  async synced(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([aborted, Promise.all([...this.#monitors.values()].map(({ synced }) => synced))]);
  }

  async close(): Promise<void> {
    for (const [id, monitor] of [...this.#monitors]) await this.#stop(id, monitor);
  }

  /** The watched resource of the kind, in any version of the group. */
  resourceOf(apiVersion: string, kind: string): ResourceType<ApiObject> | undefined {
    const exact = this.#monitors.get(idOf(apiVersion, kind));
    if (exact !== undefined) return exact.type;
    const { dialect } = this.#context;
    for (const { type } of this.#monitors.values()) {
      if (type.kind === kind && dialect.groupName(type.group) === groupOf(apiVersion)) return type;
    }
    return undefined;
  }

  #start(id: string, type: ResourceType<ApiObject>, signal: AbortSignal): void {
    const { dialect, log } = this.#context;
    const apiVersion = dialect.apiVersion(type.group, type.version);
    const observe = (object: ApiObject) =>
      this.#graph.observe(factsOf(object.metadata, apiVersion, type.kind, dialect.finalizers));
    const handler: EventHandler<ApiObject> = {
      onAdd: observe,
      // Most changes, such as lease renewals, do not affect the graph.
      onUpdate: (object, old) => {
        if (!sameFacts(object.metadata, old.metadata)) observe(object);
      },
      onDelete: ({ metadata }) => this.#graph.remove(metadata.uid ?? ''),
    };
    const cache = cacheOf(this.#context, type, {
      transform: identityOnly,
      signal,
      failed: (err) => log.error({ err, resource: type.resource }, 'watch for garbage collection failed'),
    });
    const remove = cache.informer.addHandler(handler, { resyncMs: 0 });
    const stop = () => {
      remove();
      return cache.stop();
    };
    this.#monitors.set(id, { type, synced: cache.synced, stop });
  }

  async #stop(id: string, monitor: Monitor): Promise<void> {
    this.#monitors.delete(id);
    await monitor.stop();
  }
}

function idOf(apiVersion: string, kind: string): string {
  return `${apiVersion}/${kind}`;
}

/** Drops all fields that the collector does not need, to save memory. */
function identityOnly<T extends ApiObject>(object: T): T {
  const { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp } = object.metadata;
  const metadata: Replaceable<ObjectMeta> = {};
  if (name !== undefined) metadata.name = name;
  if (namespace !== undefined) metadata.namespace = namespace;
  if (uid !== undefined) metadata.uid = uid;
  if (resourceVersion !== undefined) metadata.resourceVersion = resourceVersion;
  if (ownerReferences !== undefined) metadata.ownerReferences = ownerReferences;
  if (finalizers !== undefined) metadata.finalizers = finalizers;
  if (deletionTimestamp !== undefined) metadata.deletionTimestamp = deletionTimestamp;
  // The type claims more fields than exist, but only this file uses these objects.
  return { metadata } as T;
}

/** Compares the fields that `factsOf` reads. Name and kind do not change. */
function sameFacts(a: ObjectMeta, b: ObjectMeta): boolean {
  return (
    a.uid === b.uid &&
    a.deletionTimestamp === b.deletionTimestamp &&
    semanticEqual(a.finalizers, b.finalizers) &&
    semanticEqual(a.ownerReferences, b.ownerReferences)
  );
}

function factsOf(
  metadata: ObjectMeta,
  apiVersion: string,
  kind: string,
  names: { readonly orphan: string; readonly foreground: string },
): ObjectFacts {
  const finalizers = metadata.finalizers ?? [];
  return {
    uid: metadata.uid ?? '',
    apiVersion,
    kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    owners: metadata.ownerReferences ?? [],
    deleting: metadata.deletionTimestamp !== undefined,
    foreground: finalizers.includes(names.foreground),
    orphaning: finalizers.includes(names.orphan),
  };
}

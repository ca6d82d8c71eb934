/** Looks at single objects of the graph, asks the API server for certainty, and deletes, lets go or keeps. */
import type { ObjectMeta, OwnerReference } from '#api/meta/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import { done, type Outcome, retry } from '#client/workqueue/outcome.js';
import { allWithin } from '#controllers/framework/bounded.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import type { Graph, GraphNode, Identity } from '#controllers/garbagecollector/graph.js';
import { decide, type OwnerState } from '#controllers/garbagecollector/plan.js';

/** Resource of a kind, undefined when none is served (or watched) under that name. */
export type ResourceOf = (apiVersion: string, kind: string) => ResourceType<ApiObject> | undefined;

export interface CollectorOptions {
  readonly context: ControllerContext;
  readonly graph: Graph;
  readonly resourceOf: ResourceOf;
}

/** Requests for one object: of its owners, or of its dependents, there can be tens of thousands. */
const atOnce = 20;

export class Collector {
  readonly #options: CollectorOptions;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Deletes the object if all its owners are gone, and goes on with a deletion in the foreground. */
  async attemptToDelete(uid: string): Promise<Outcome> {
    const node = this.#options.graph.get(uid);
    // A node that was virtual when it was queued and has been observed since needs no look.
    if (node === undefined || !(node.virtual || node.suspect)) return done;
    if (node.deleting && !node.foreground) return done;
    node.suspect = false;
    try {
      return await this.#look(node);
    } catch (error) {
      node.suspect = true;
      return retry(error);
    }
  }

  async #look(node: GraphNode): Promise<Outcome> {
    const { graph } = this.#options;
    const live = await this.#live(node.identity);
    if (live === undefined || live.metadata.uid !== node.identity.uid) {
      graph.remove(node.identity.uid);
      return done;
    }
    if (node.virtual) {
      // The owner exists; the watch of its resource will say so, unless the reference names it wrongly.
      return node.dependents.size === 0 ? done : retry(new Error(`${describe(node.identity)} is not observed yet`));
    }
    if (node.foreground) return this.#goOnInForeground(node, live);
    return this.#collect(node, live);
  }

  /** Takes the references to the object from its dependents, then lets it go. */
  async attemptToOrphan(uid: string): Promise<Outcome> {
    const node = this.#options.graph.get(uid);
    if (node?.orphaning !== true) return done;
    await allWithin([...node.dependents], atOnce, (dependent) => this.#dropReferences(dependent.identity, [uid]));
    await this.#removeFinalizer(node.identity, this.#options.context.dialect.finalizers.orphan);
    this.#count('orphaned');
    return done;
  }

  async #goOnInForeground(node: GraphNode, live: ApiObject): Promise<Outcome> {
    const { dialect } = this.#options.context;
    if (live.metadata.deletionTimestamp === undefined) return done;
    const blocking = node.blockingDependents();
    if (blocking.length === 0) {
      await this.#removeFinalizer(node.identity, dialect.finalizers.foreground);
      return done;
    }
    for (const dependent of blocking) if (!dependent.foreground) this.#options.graph.suspect(dependent);
    return done;
  }

  async #collect(node: GraphNode, live: ApiObject): Promise<Outcome> {
    const { finalizers } = this.#options.context.dialect;
    const references = live.metadata.ownerReferences ?? [];
    if (references.length === 0) return done;
    const owners = await allWithin(references, atOnce, async (reference) => ({
      reference,
      state: await this.#ownerState(node.identity, reference),
    }));
    const own = live.metadata.finalizers ?? [];
    const verdict = decide({
      owners,
      hasDependents: node.dependents.size > 0,
      dependentWaits: [...node.dependents].some((dependent) => dependent.foreground),
      hasOrphanFinalizer: own.includes(finalizers.orphan),
      hasForegroundFinalizer: own.includes(finalizers.foreground),
    });
    switch (verdict.kind) {
      case 'keep':
        return done;
      case 'dropReferences':
        await this.#dropReferences(node.identity, verdict.uids);
        return done;
      case 'delete':
        if (verdict.unblockOwners) await this.#unblockOwners(node.identity);
        await this.#delete(node.identity, live, verdict.propagation);
        return done;
      default:
        return verdict satisfies never;
    }
  }

  async #ownerState({ namespace }: Identity, reference: OwnerReference): Promise<OwnerState> {
    const { context } = this.#options;
    const type = this.#typeOf(reference);
    if (type.namespaced && namespace === '') return 'unresolvable';
    const owner = await this.#get(type, namespace, reference.name);
    if (owner === undefined || owner.metadata.uid !== reference.uid) return 'absent';
    const { deletionTimestamp, finalizers } = owner.metadata;
    const waits = finalizers?.includes(context.dialect.finalizers.foreground) ?? false;
    return deletionTimestamp !== undefined && waits ? 'waiting' : 'solid';
  }

  async #live(identity: Identity): Promise<ApiObject | undefined> {
    const type = this.#typeOf(identity);
    // A cluster-scoped object cannot have an owner inside a namespace.
    if (type.namespaced && identity.namespace === '') return undefined;
    return this.#get(type, identity.namespace, identity.name);
  }

  async #get(type: ResourceType<ApiObject>, namespace: string, name: string): Promise<ApiObject | undefined> {
    try {
      const { client } = this.#options.context;
      return await client.resource(type).get(name, type.namespaced ? { namespace } : {});
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #delete(identity: Identity, live: ApiObject, propagationPolicy: 'Orphan' | 'Background' | 'Foreground') {
    const { context } = this.#options;
    const type = this.#typeOf(identity);
    const { uid = '', resourceVersion = '' } = live.metadata;
    try {
      // The version makes sure that the owners looked at are the owners it still has.
      await context.client.resource(type).delete(identity.name, {
        ...namespaceOption(type, identity),
        propagationPolicy,
        preconditions: { uid, resourceVersion },
      });
      context.log.debug({ kind: identity.kind, namespace: identity.namespace, name: identity.name }, 'Collected');
      this.#count('deleted');
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #unblockOwners(identity: Identity): Promise<void> {
    return this.#edit(identity, ({ ownerReferences = [] }) => ({
      ownerReferences: ownerReferences.map((reference) => ({ ...reference, blockOwnerDeletion: false })),
    }));
  }

  #dropReferences(identity: Identity, uids: readonly string[]): Promise<void> {
    const dropped = new Set(uids);
    return this.#edit(identity, ({ ownerReferences = [] }) => {
      const kept = ownerReferences.filter((reference) => !dropped.has(reference.uid));
      return kept.length === ownerReferences.length ? undefined : { ownerReferences: kept };
    });
  }

  #removeFinalizer(identity: Identity, finalizer: string): Promise<void> {
    return this.#edit(identity, ({ finalizers = [] }) =>
      finalizers.includes(finalizer) ? { finalizers: finalizers.filter((each) => each !== finalizer) } : undefined,
    );
  }

  /**
   * Patches the metadata of an object as it is now. The version is in the patch, so lists can be replaced as a whole,
   * which every resource understands, custom ones too. What is gone, or is another object by now, needs nothing.
   */
  async #edit(identity: Identity, change: (metadata: ObjectMeta) => object | undefined): Promise<void> {
    const type = this.#typeOf(identity);
    const resource = this.#options.context.client.resource(type);
    const inNamespace = namespaceOption(type, identity);
    for (let attempt = 1; ; attempt += 1) {
      const live = await this.#get(type, identity.namespace, identity.name);
      if (live === undefined || live.metadata.uid !== identity.uid) return;
      const changed = change(live.metadata);
      if (changed === undefined) return;
      const { uid, resourceVersion } = live.metadata;
      try {
        const patch = { metadata: { uid, resourceVersion, ...changed } };
        await resource.patch(identity.name, patch, { ...inNamespace, type: 'merge' });
        return;
      } catch (error) {
        if (isNotFound(error)) return;
        if (!isConflict(error) || attempt === 5) throw error;
      }
    }
  }

  #typeOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): ResourceType<ApiObject> {
    const type = this.#options.resourceOf(apiVersion, kind);
    if (type === undefined) throw new Error(`no resource is known for ${kind} of ${apiVersion}`);
    return type;
  }

  #count(action: 'deleted' | 'orphaned'): void {
    const help = 'Objects that the garbage collector deleted, or whose dependents it let go';
    this.#options.context.metrics.count('garbagecollector_controller_objects_total', help, { action });
  }
}

function namespaceOption(type: ResourceType<ApiObject>, { namespace }: Identity): { namespace?: string } {
  return type.namespaced ? { namespace } : {};
}

function describe({ apiVersion, kind, namespace, name, uid }: Identity): string {
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`} of ${apiVersion} (uid ${uid})`;
}

/** Checks single objects of the graph with the API server, and deletes, orphans or keeps them. */
import type { ObjectMeta, OwnerReference } from '#api/meta/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import { done, type Outcome, retry } from '#client/workqueue/outcome.js';
import { allWithin } from '#controllers/framework/bounded-concurrency.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import type { Graph, GraphNode, Identity } from '#controllers/garbagecollector/graph.js';

/** The resource of a kind; undefined if it is not served or watched. */
export type ResourceOf = (apiVersion: string, kind: string) => ResourceType<ApiObject> | undefined;

export interface CollectorOptions {
  readonly context: ControllerContext;
  readonly graph: Graph;
  readonly resourceOf: ResourceOf;
}

/** The maximum of concurrent requests for one object, which can have tens of thousands of owners or dependents. */
const maxConcurrentRequests = 20;

export class Collector {
  readonly #options: CollectorOptions;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Deletes the object if all its owners are deleted, and continues foreground deletions. */
  async attemptToDelete(uid: string): Promise<Outcome> {
    const node = this.#options.graph.get(uid);
    // Skip a node that was virtual when queued and has been observed since.
    if (node === undefined || !(node.virtual || node.suspect)) return done;
    if (node.deleting && !node.foreground) return done;
    node.suspect = false;
    try {
      return await this.#check(node);
    } catch (error) {
      node.suspect = true;
      return retry(error);
    }
  }

  async #check(node: GraphNode): Promise<Outcome> {
    const { graph } = this.#options;
    const live = await this.#live(node.identity);
    if (live === undefined || live.metadata.uid !== node.identity.uid) {
      graph.remove(node.identity.uid);
      return done;
    }
    if (node.virtual) {
      // The owner exists. Its watch will deliver it, unless the reference has wrong coordinates.
      return node.dependents.size === 0 ? done : retry(new Error(`${describe(node.identity)} is not observed yet`));
    }
    if (node.foreground) return this.#continueForeground(node, live);
    return this.#collect(node, live);
  }

  /** Removes the dependents' references to the object, then its finalizer. */
  async attemptToOrphan(uid: string): Promise<Outcome> {
    const node = this.#options.graph.get(uid);
    if (node?.orphaning !== true) return done;
    await allWithin([...node.dependents], maxConcurrentRequests, (dependent) =>
      this.#dropReferences(dependent.identity, [uid]),
    );
    await this.#removeFinalizer(node.identity, this.#options.context.dialect.finalizers.orphan);
    this.#count('orphaned');
    return done;
  }

  async #continueForeground(node: GraphNode, live: ApiObject): Promise<Outcome> {
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
    const owners = await allWithin(references, maxConcurrentRequests, async (reference) => ({
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
    // A cluster-scoped object cannot have a namespaced owner.
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
      // The version ensures that the checked owners are current.
      await context.client.resource(type).delete(identity.name, {
        ...namespaceOption(type, identity),
        propagationPolicy,
        preconditions: { uid, resourceVersion },
      });
      context.log.debug(
        { kind: identity.kind, namespace: identity.namespace, name: identity.name },
        'deleted a garbage object',
      );
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
      const remaining = ownerReferences.filter((reference) => !dropped.has(reference.uid));
      return remaining.length === ownerReferences.length ? undefined : { ownerReferences: remaining };
    });
  }

  #removeFinalizer(identity: Identity, finalizer: string): Promise<void> {
    return this.#edit(identity, ({ finalizers = [] }) =>
      finalizers.includes(finalizer) ? { finalizers: finalizers.filter((each) => each !== finalizer) } : undefined,
    );
  }

  /**
   * Patches the metadata of the live object. The patch includes the version, so it can replace whole lists, which custom
   * resources also support. Does nothing when the object does not exist or has another UID.
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
    if (type === undefined) throw new Error(`no watched resource serves ${kind} of ${apiVersion}`);
    return type;
  }

  #count(action: 'deleted' | 'orphaned'): void {
    const help = 'Objects that the garbage collector deleted or orphaned';
    this.#options.context.metrics.count('garbagecollector_controller_objects_total', help, { action });
  }
}

function namespaceOption(type: ResourceType<ApiObject>, { namespace }: Identity): { namespace?: string } {
  return type.namespaced ? { namespace } : {};
}

function describe({ apiVersion, kind, namespace, name, uid }: Identity): string {
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`} of ${apiVersion} (uid ${uid})`;
}

/** The state of an owner on the API server. */
export type OwnerState =
  /** Exists and does not wait for its dependents. */
  | 'solid'
  /** Does not exist, or another object has its name. */
  | 'absent'
  /** In foreground deletion: waits for its dependents. */
  | 'waiting'
  /** A namespaced owner of a cluster-scoped object, which cannot be looked up. */
  | 'unresolvable';

export type Propagation = 'Orphan' | 'Background' | 'Foreground';

export type Verdict =
  | { readonly kind: 'keep' }
  /** Some owners remain: drop only the references to the others. */
  | { readonly kind: 'dropReferences'; readonly uids: readonly string[] }
  | { readonly kind: 'delete'; readonly propagation: Propagation; readonly unblockOwners: boolean };

export interface Candidate {
  readonly owners: readonly { readonly reference: OwnerReference; readonly state: OwnerState }[];
  readonly hasDependents: boolean;
  /** A dependent is also in foreground deletion, so that both could wait for each other. */
  readonly dependentWaits: boolean;
  readonly hasOrphanFinalizer: boolean;
  readonly hasForegroundFinalizer: boolean;
}

export function decide(candidate: Candidate): Verdict {
  const { owners } = candidate;
  const uidsOf = (state: OwnerState) =>
    owners.filter((owner) => owner.state === state).map(({ reference }) => reference.uid);
  const absent = uidsOf('absent');
  const waiting = uidsOf('waiting');
  if (owners.length === 0 || uidsOf('unresolvable').length > 0) return { kind: 'keep' };
  if (uidsOf('solid').length > 0) {
    const uids = [...absent, ...waiting];
    return uids.length === 0 ? { kind: 'keep' } : { kind: 'dropReferences', uids };
  }
  if (waiting.length > 0 && candidate.hasDependents) {
    return { kind: 'delete', propagation: 'Foreground', unblockOwners: candidate.dependentWaits };
  }
  return { kind: 'delete', propagation: ownPropagation(candidate), unblockOwners: false };
}

/** The propagation policy of the object's deletion. */
function ownPropagation({ hasOrphanFinalizer, hasForegroundFinalizer }: Candidate): Propagation {
  if (hasOrphanFinalizer) return 'Orphan';
  return hasForegroundFinalizer ? 'Foreground' : 'Background';
}

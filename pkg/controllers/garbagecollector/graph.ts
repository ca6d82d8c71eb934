/**
 * Who owns whom, for all objects of the cluster. Only identities are kept, never objects. Every change of the graph
 * says which nodes now deserve a closer look; the graph itself decides nothing. Pure.
 */

import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';

export interface Identity {
  readonly uid: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** What the collector keeps of an object. */
export interface ObjectFacts extends Identity {
  readonly owners: readonly OwnerReference[];
  readonly deleting: boolean;
  /** Being deleted in the foreground: waits until its blocking dependents are gone. */
  readonly foreground: boolean;
  /** Being deleted while its dependents are to be let go first. */
  readonly orphaning: boolean;
}

export class GraphNode {
  identity: Identity;
  owners: readonly OwnerReference[];
  /** Of the last observation; see ObjectFacts. */
  deleting = false;
  foreground = false;
  orphaning = false;
  /** Known from a dependent's reference only: nobody has seen the object itself. */
  virtual: boolean;
  /** There was a reason to look at it; taken by whoever looks. */
  suspect = false;
  readonly dependents = new Set<GraphNode>();

  constructor(identity: Identity, owners: readonly OwnerReference[], virtual: boolean) {
    this.identity = identity;
    this.owners = owners;
    this.virtual = virtual;
  }

  /** Dependents that keep this node from going while it is deleted in the foreground. */
  blockingDependents(): GraphNode[] {
    const { uid } = this.identity;
    return [...this.dependents].filter((dependent) =>
      dependent.owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
    );
  }
}

/** Where the graph reports what deserves a closer look; each is asked at most once per change. */
export interface GraphListener {
  attemptToDelete(node: GraphNode): void;
  attemptToOrphan(node: GraphNode): void;
  /** A reference whose coordinates are not those of the object with that UID. */
  invalidOwner(node: GraphNode, owner: OwnerReference): void;
}

export class Graph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #listener: GraphListener;

  constructor(listener: GraphListener) {
    this.#listener = listener;
  }

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** An object was seen, new or changed. */
  observe(facts: ObjectFacts): void {
    const known = this.#nodes.get(facts.uid);
    const node = known ?? new GraphNode(identityOf(facts), [], false);
    const oldOwners = node.owners;
    const wasForeground = node.foreground;
    const wasOrphaning = node.orphaning;
    if (known === undefined) this.#nodes.set(facts.uid, node);
    const appeared = node.virtual;
    node.virtual = false;
    node.identity = identityOf(facts);
    node.deleting = facts.deleting;
    node.foreground = facts.deleting && facts.foreground;
    node.orphaning = facts.deleting && facts.orphaning;
    this.#setOwners(node, oldOwners, facts.owners);
    if (appeared) this.#checkDependents(node);
    if (node.orphaning && !wasOrphaning) this.#listener.attemptToOrphan(node);
    if (node.foreground && !wasForeground) {
      for (const dependent of node.dependents) this.suspect(dependent);
      this.suspect(node);
    }
  }

  /** The object is gone for good. */
  remove(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#nodes.delete(uid);
    for (const owner of node.owners) {
      const ownerNode = this.#nodes.get(owner.uid);
      if (ownerNode === undefined) continue;
      ownerNode.dependents.delete(node);
      if (ownerNode.foreground) this.suspect(ownerNode);
      this.#dropUnused(ownerNode);
    }
    for (const dependent of node.dependents) this.suspect(dependent);
  }

  /** Asks for a look at the node. */
  suspect(node: GraphNode): void {
    node.suspect = true;
    this.#listener.attemptToDelete(node);
  }

  #setOwners(node: GraphNode, old: readonly OwnerReference[], next: readonly OwnerReference[]): void {
    node.owners = next;
    const kept = new Map(next.map((owner) => [owner.uid, owner]));
    for (const owner of old) {
      const now = kept.get(owner.uid);
      const ownerNode = this.#nodes.get(owner.uid);
      if (now === undefined) ownerNode?.dependents.delete(node);
      // The owner may have waited for exactly this reference.
      const unblocked = owner.blockOwnerDeletion === true && now?.blockOwnerDeletion !== true;
      if (unblocked && ownerNode?.foreground === true) this.suspect(ownerNode);
      if (now === undefined && ownerNode !== undefined) this.#dropUnused(ownerNode);
    }
    const before = new Set(old.map((owner) => owner.uid));
    for (const owner of next) if (!before.has(owner.uid)) this.#addOwner(node, owner);
  }

  #addOwner(node: GraphNode, owner: OwnerReference): void {
    const known = this.#nodes.get(owner.uid);
    if (known === undefined) {
      const { apiVersion, kind, name, uid } = owner;
      const virtual = new GraphNode({ uid, apiVersion, kind, name, namespace: node.identity.namespace }, [], true);
      virtual.dependents.add(node);
      this.#nodes.set(uid, virtual);
      // Nobody has seen the owner: it comes soon, or never; whoever looks will know.
      this.#listener.attemptToDelete(virtual);
      return;
    }
    known.dependents.add(node);
    if (!refersTo(owner, node, known)) {
      // A virtual owner is only what the first reference says: its kind may not be served, and nothing be learned of it.
      if (known.virtual) this.suspect(node);
      else this.#mismatch(node, owner);
    } else if (known.foreground) this.suspect(node);
  }

  /** The real object behind references seen earlier: those that meant another one are wrong. */
  #checkDependents(node: GraphNode): void {
    for (const dependent of node.dependents) {
      const owner = dependent.owners.find((each) => each.uid === node.identity.uid);
      if (owner !== undefined && !refersTo(owner, dependent, node)) this.#mismatch(dependent, owner);
    }
  }

  #mismatch(node: GraphNode, owner: OwnerReference): void {
    this.#listener.invalidOwner(node, owner);
    this.suspect(node);
  }

  /** A virtual node without dependents is of no use. */
  #dropUnused(node: GraphNode): void {
    if (node.virtual && node.dependents.size === 0) this.#nodes.delete(node.identity.uid);
  }
}

function identityOf({ uid, apiVersion, kind, namespace, name }: ObjectFacts): Identity {
  return { uid, apiVersion, kind, namespace, name };
}

/** True when the reference's coordinates are the node's; versions of one group are the same object. */
function refersTo(owner: OwnerReference, dependent: GraphNode, node: GraphNode): boolean {
  const { identity } = node;
  const inReach = identity.namespace === '' || identity.namespace === dependent.identity.namespace;
  return (
    inReach &&
    owner.kind === identity.kind &&
    owner.name === identity.name &&
    groupOf(owner.apiVersion) === groupOf(identity.apiVersion)
  );
}

export function groupOf(apiVersion: string): string {
  return parseGroupVersion(apiVersion).group;
}

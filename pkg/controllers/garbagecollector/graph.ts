/**
 * The ownership graph of all objects in the cluster, with identities instead of whole objects. Each change reports the
 * nodes to check; the graph itself makes no decisions. Pure.
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

/** The parts of an object that the collector stores. */
export interface ObjectFacts extends Identity {
  readonly owners: readonly OwnerReference[];
  readonly deleting: boolean;
  /** In foreground deletion: waits for its blocking dependents. */
  readonly foreground: boolean;
  /** Being deleted after its dependents are orphaned. */
  readonly orphaning: boolean;
}

export class GraphNode {
  identity: Identity;
  owners: readonly OwnerReference[];
  /** From the last observation; see ObjectFacts. */
  deleting = false;
  foreground = false;
  orphaning = false;
  /** Only referred to by dependents; not observed itself. */
  virtual: boolean;
  /** Must be checked; the collector resets this. */
  suspect = false;
  readonly dependents = new Set<GraphNode>();

  constructor(identity: Identity, owners: readonly OwnerReference[], virtual: boolean) {
    this.identity = identity;
    this.owners = owners;
    this.virtual = virtual;
  }

  /** Dependents that block the foreground deletion of this node. */
  blockingDependents(): GraphNode[] {
    const { uid } = this.identity;
    return [...this.dependents].filter((dependent) =>
      dependent.owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
    );
  }
}

/** Receives the nodes to check. */
export interface GraphListener {
  attemptToDelete(node: GraphNode): void;
  attemptToOrphan(node: GraphNode): void;
  /** The reference's coordinates do not match the object with its UID. */
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

  /** Adds or updates an object. */
  observe(facts: ObjectFacts): void {
    const existing = this.#nodes.get(facts.uid);
    const node = existing ?? new GraphNode(identityOf(facts), [], false);
    const oldOwners = node.owners;
    const wasForeground = node.foreground;
    const wasOrphaning = node.orphaning;
    if (existing === undefined) this.#nodes.set(facts.uid, node);
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

  /** Removes a deleted object. */
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

  /** Requests a check of the node. */
  suspect(node: GraphNode): void {
    node.suspect = true;
    this.#listener.attemptToDelete(node);
  }

  #setOwners(node: GraphNode, old: readonly OwnerReference[], next: readonly OwnerReference[]): void {
    node.owners = next;
    const nextByUid = new Map(next.map((owner) => [owner.uid, owner]));
    for (const owner of old) {
      const now = nextByUid.get(owner.uid);
      const ownerNode = this.#nodes.get(owner.uid);
      if (now === undefined) ownerNode?.dependents.delete(node);
      // The owner may have waited for this reference.
      const unblocked = owner.blockOwnerDeletion === true && now?.blockOwnerDeletion !== true;
      if (unblocked && ownerNode?.foreground === true) this.suspect(ownerNode);
      if (now === undefined && ownerNode !== undefined) this.#dropUnused(ownerNode);
    }
    const before = new Set(old.map((owner) => owner.uid));
    for (const owner of next) if (!before.has(owner.uid)) this.#addOwner(node, owner);
  }

  #addOwner(node: GraphNode, owner: OwnerReference): void {
    const ownerNode = this.#nodes.get(owner.uid);
    if (ownerNode === undefined) {
      const { apiVersion, kind, name, uid } = owner;
      const virtual = new GraphNode({ uid, apiVersion, kind, name, namespace: node.identity.namespace }, [], true);
      virtual.dependents.add(node);
      this.#nodes.set(uid, virtual);
      // The owner may not exist: check with the API server.
      this.#listener.attemptToDelete(virtual);
      return;
    }
    ownerNode.dependents.add(node);
    if (!refersTo(owner, node, ownerNode)) {
      // A virtual owner's coordinates come from its first reference and may be wrong.
      if (ownerNode.virtual) this.suspect(node);
      else this.#mismatch(node, owner);
    } else if (ownerNode.foreground) this.suspect(node);
  }

  /** Reports dependents whose reference does not match the observed object. */
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

  /** Drops a virtual node without dependents. */
  #dropUnused(node: GraphNode): void {
    if (node.virtual && node.dependents.size === 0) this.#nodes.delete(node.identity.uid);
  }
}

function identityOf({ uid, apiVersion, kind, namespace, name }: ObjectFacts): Identity {
  return { uid, apiVersion, kind, namespace, name };
}

/** Whether the reference's coordinates match the node, in any version of its group. */
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

/** The scheduler's view of the cluster: nodes, their pods, and assumed pods (placed, but not confirmed by a watch). */
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { ClaimIndex } from '#scheduler/cluster/claim-index.js';
import { DomainSums } from '#scheduler/cluster/domain-sums.js';
import { type ClusterEvent, differ, nodeEvents } from '#scheduler/cluster/events.js';
import { type LabelClass, LabelClasses, type PodCounter } from '#scheduler/cluster/label-classes.js';
import type { NodeCounts } from '#scheduler/cluster/node-counts.js';
import { NodeInfo } from '#scheduler/cluster/node-info.js';
import { byZones } from '#scheduler/cluster/node-order.js';
import type { ClusterObjects } from '#scheduler/cluster/objects.js';
import { type PodInfo, podInfo } from '#scheduler/cluster/pod-info.js';
import { TermIndex } from '#scheduler/cluster/term-index.js';
import { Topology } from '#scheduler/cluster/topology.js';

/** Measures the counting of one part of a pod (its labels, or its own affinity terms). Must call `count`. */
export type CountPart = (part: 'labels' | 'terms', by: 1 | -1, count: () => void) => void;

/** Guarantees: a pod counts on exactly one node. An assumed pod counts until it is confirmed, deleted or forgotten. */
export class Cluster {
  readonly objects: ClusterObjects;
  readonly labels: Dialect['labels'];
  /** All nodes named by a node object or a pod; a node without a node object cannot be chosen. */
  readonly #infos = new Map<string, NodeInfo>();
  readonly #freeSlots: number[] = [];
  #slots = 0;
  /** Grows when plans become invalid because objects that plugins read have changed. */
  epoch = 0;
  /** Nodes with a node object, in search order; rebuilt when nodes come, go or change zones. */
  #nodes: NodeInfo[] | undefined;
  #generation = 0;
  /** Pod UID → the node where it counts. */
  readonly #placed = new Map<string, NodeInfo>();
  readonly #assumed = new Set<string>();
  readonly #claims = new ClaimIndex<NodeInfo>();
  /** Assumed pods whose binding was written → deadline for its confirmation; ms. Oldest first. */
  readonly #unconfirmed = new Map<string, number>();
  readonly #topologies = new Map<string, Topology>();
  readonly #sums = new Set<DomainSums>();
  readonly #classes = new LabelClasses();
  /** Image → number of nodes that have it. */
  readonly #images = new Map<string, number>();
  #nodesToAvoid = 0;
  /** The affinity terms of placed pods. */
  readonly terms = new TermIndex({
    open: (topologyKey, counts) => this.sumUp(counts, topologyKey),
    close: (sums) => this.forgetSums(sums),
  });

  constructor({ labels }: Pick<Dialect, 'labels'>, objects: ClusterObjects) {
    this.labels = labels;
    this.objects = objects;
  }

  /** The nodes to choose from. Valid until the cluster changes. */
  nodes(): readonly NodeInfo[] {
    this.#nodes ??= byZones([...this.#infos.values()].filter(hasNode), this.labels);
    return this.#nodes;
  }

  /** All counted pods with their nodes. */
  *placed(): Iterable<{ readonly pod: PodInfo; readonly node: string }> {
    for (const { name, pods } of this.#infos.values()) for (const pod of pods.values()) yield { pod, node: name };
  }

  /** The pods of `placed` that mount the claim. */
  *placedWithClaim(
    namespace: string | undefined,
    name: string,
  ): Iterable<{ readonly pod: PodInfo; readonly node: string }> {
    for (const [uid, node] of this.#claims.placesOf(namespace, name)) {
      const pod = node.pods.get(uid);
      if (pod !== undefined) yield { pod, node: node.name };
    }
  }

  /** Exclusive upper bound of the nodes' slots. */
  get slots(): number {
    return this.#slots;
  }

  node(name: string): NodeInfo | undefined {
    const info = this.#infos.get(name);
    return info?.node === undefined ? undefined : info;
  }

  get sizes(): { readonly nodes: number; readonly pods: number; readonly assumedPods: number } {
    return { nodes: this.nodes().length, pods: this.#placed.size, assumedPods: this.#assumed.size };
  }

  /** Counts only nodes that can be chosen. */
  nodesWithImage(image: string): number {
    return this.#images.get(image) ?? 0;
  }

  /** Number of nodes with a `PreferNoSchedule` taint. */
  get nodesToAvoid(): number {
    return this.#nodesToAvoid;
  }

  /** Counts matching placed pods until `forgetCount`. */
  countPods(matches: (pods: LabelClass) => boolean): PodCounter {
    return this.#classes.count(matches);
  }

  forgetCount(counter: PodCounter): void {
    this.#classes.forget(counter);
  }

  /** Sums counts by topology domain until `forgetSums`. `eligible` must depend on the node object alone. */
  sumUp(counts: NodeCounts, topologyKey: string, eligible?: (node: NodeInfo) => boolean): DomainSums {
    const sums = new DomainSums(this.#topology(topologyKey), counts, eligible);
    for (const info of this.#infos.values()) sums.nodeChanged(info);
    counts.follow(sums);
    this.#sums.add(sums);
    return sums;
  }

  forgetSums(sums: DomainSums): void {
    sums.counts.unfollow(sums);
    this.#sums.delete(sums);
    for (const { topology } of this.#sums) if (topology === sums.topology) return;
    this.#topologies.delete(sums.topology.key);
  }

  #topology(key: string): Topology {
    let topology = this.#topologies.get(key);
    if (topology === undefined) {
      topology = new Topology(key);
      for (const info of this.#infos.values()) topology.set(info.slot, info.labels[key]);
      this.#topologies.set(key, topology);
    }
    return topology;
  }

  /** Returns the changes that could help a pod. */
  setNode(node: Node): readonly ClusterEvent[] {
    const info = this.#info(node.metadata.name ?? '');
    const old = info.node;
    const events: readonly ClusterEvent[] = old === undefined ? ['NodeAdd'] : nodeEvents(node, old);
    const newImages = differ(node.status?.images, old?.status?.images);
    if (newImages) this.#countImages(info, -1);
    info.setNode(node, newImages);
    if (newImages) this.#countImages(info, 1);
    this.#nodesToAvoid += Number(hasPreferNoSchedule(node)) - Number(hasPreferNoSchedule(old));
    if (old === undefined || events.includes('NodeLabelChange')) this.#updateTopologies(info);
    const cordoned = old !== undefined && node.spec.unschedulable !== old.spec.unschedulable;
    if (events.length > 0 || newImages || cordoned) this.#touch(info);
    return events;
  }

  removeNode(name: string): void {
    const info = this.#infos.get(name);
    if (info === undefined) return;
    this.#countImages(info, -1);
    this.#nodesToAvoid -= Number(hasPreferNoSchedule(info.node));
    info.setNode(undefined, true);
    this.#updateTopologies(info);
    this.#touch(info);
    this.#drop(info);
  }

  /** Counts the pod on a node before the API shows the binding. */
  assume(pod: PodInfo, node: string): void {
    this.#assumed.add(pod.uid);
    this.#place(pod, node);
  }

  isAssumed(uid: string): boolean {
    return this.#assumed.has(uid);
  }

  /** Undoes an assumption after the binding failed. */
  forget(uid: string): void {
    if (this.#endAssumption(uid)) this.#remove(uid);
  }

  /** Starts the wait for confirmation of a written binding, until `deadline` (ms). False if it is confirmed already. */
  awaitBinding(uid: string, deadline: number): boolean {
    if (!this.#assumed.has(uid)) return false;
    this.#unconfirmed.set(uid, deadline);
    return true;
  }

  /** The earliest deadline of an unconfirmed binding; undefined: there is none. */
  get nextDeadline(): number | undefined {
    for (const deadline of this.#unconfirmed.values()) return deadline;
    return undefined;
  }

  /** Forgets and returns the pods whose bindings were not confirmed by `now` (ms), with their nodes. */
  expire(now: number): { readonly pod: PodInfo; readonly node: string }[] {
    const expired: { readonly pod: PodInfo; readonly node: string }[] = [];
    for (const [uid, deadline] of this.#unconfirmed) {
      if (deadline > now) break;
      const node = this.#placed.get(uid);
      const pod = node?.pods.get(uid);
      if (node !== undefined && pod !== undefined) expired.push({ pod, node: node.name });
      this.forget(uid);
    }
    return expired;
  }

  /** Sets a bound pod from the API. */
  setPod(pod: Pod): void {
    const node = pod.spec.nodeName ?? '';
    const uid = pod.metadata.uid ?? '';
    if (node === '') return;
    this.#endAssumption(uid);
    this.#place(podInfo(pod), node);
  }

  removePod(uid: string): void {
    this.#endAssumption(uid);
    this.#remove(uid);
  }

  /** Ends the pod's assumed state; false if it was not assumed. */
  #endAssumption(uid: string): boolean {
    if (!this.#assumed.delete(uid)) return false;
    this.#unconfirmed.delete(uid);
    return true;
  }

  /**
   * Runs `trial` while pods are added to and removed from the node by `change`, then restores the node, so that results
   * cached by generation stay valid. `counted` measures the changes.
   */
  tentatively<T>(
    node: NodeInfo,
    trial: (change: { add(pod: PodInfo): void; remove(pod: PodInfo): void }) => T,
    counted?: CountPart,
  ): T {
    const undo: (() => void)[] = [];
    const { generation } = node;
    const add = (pod: PodInfo) => {
      this.#count(pod, node, 1, counted);
      undo.push(() => this.#count(pod, node, -1));
    };
    const remove = (pod: PodInfo) => {
      this.#count(pod, node, -1, counted);
      undo.push(() => this.#count(pod, node, 1));
    };
    try {
      return trial({ add, remove });
    } finally {
      for (const step of undo.reverse()) step();
      node.generation = generation;
    }
  }

  #place(pod: PodInfo, name: string): void {
    const node = this.#info(name);
    // In 1.24 requests and ports of a placed pod are immutable; its labels are not.
    const old = this.#placed.get(pod.uid);
    const before = old?.pods.get(pod.uid);
    if (old === node && before !== undefined && before.labelKey === pod.labelKey) {
      node.pods.set(pod.uid, pod);
      return;
    }
    this.#remove(pod.uid, node);
    this.#placed.set(pod.uid, node);
    this.#count(pod, node, 1);
  }

  /** `keep`: the node that stays even when it has no pods left. */
  #remove(uid: string, keep?: NodeInfo): void {
    const node = this.#placed.get(uid);
    const pod = node?.pods.get(uid);
    if (node === undefined || pod === undefined) return;
    this.#placed.delete(uid);
    this.#count(pod, node, -1);
    if (node !== keep) this.#drop(node);
  }

  #count(pod: PodInfo, node: NodeInfo, by: 1 | -1, counted?: CountPart): void {
    if (by === 1) {
      node.addPod(pod);
      this.#claims.add(pod, node);
    } else {
      node.removePod(pod.uid);
      this.#claims.remove(pod);
    }
    if (counted === undefined) {
      this.#classes.change(pod, node.slot, by);
      this.terms.change(pod.terms, node.slot, by);
    } else {
      counted('labels', by, () => this.#classes.change(pod, node.slot, by));
      counted('terms', by, () => this.terms.change(pod.terms, node.slot, by));
    }
    this.#touch(node);
  }

  #countImages({ images }: NodeInfo, by: 1 | -1): void {
    for (const image of images.keys()) {
      const nodes = this.nodesWithImage(image) + by;
      if (nodes === 0) this.#images.delete(image);
      else this.#images.set(image, nodes);
    }
  }

  #touch(node: NodeInfo): void {
    node.generation = ++this.#generation;
  }

  #updateTopologies(info: NodeInfo): void {
    this.#nodes = undefined;
    for (const topology of this.#topologies.values()) topology.set(info.slot, info.labels[topology.key]);
    for (const sums of this.#sums) sums.nodeChanged(info);
  }

  /** Drops a node without node object and pods. */
  #drop(info: NodeInfo): void {
    if (info.node !== undefined || info.pods.size > 0) return;
    this.#infos.delete(info.name);
    this.#freeSlots.push(info.slot);
  }

  #info(name: string): NodeInfo {
    let info = this.#infos.get(name);
    if (info === undefined) {
      const slot = this.#freeSlots.pop() ?? this.#slots++;
      info = new NodeInfo(name, slot);
      this.#touch(info);
      this.#infos.set(name, info);
    }
    return info;
  }
}

const hasPreferNoSchedule = (node: Node | undefined): boolean =>
  node?.spec.taints?.some(({ effect }) => effect === 'PreferNoSchedule') === true;

const hasNode = ({ node }: NodeInfo): boolean => node !== undefined;

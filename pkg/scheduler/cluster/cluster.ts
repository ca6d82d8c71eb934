/** What the scheduler believes of the cluster: nodes, their pods, and pods it has placed but not yet seen placed. */
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

/** Does a part of counting a pod: of what selectors see of pods, or of the pods' own affinity terms. */
export type CountPart = (part: 'labels' | 'terms', by: 1 | -1, count: () => void) => void;

/**
 * Guarantees: a pod counts on exactly one node. An assumed pod counts until it is seen bound, deleted, or forgotten.
 */
export class Cluster {
  readonly objects: ClusterObjects;
  readonly labels: Dialect['labels'];
  /** Every node ever named by a node object or by a pod; those without a node object are not offered. */
  readonly #infos = new Map<string, NodeInfo>();
  readonly #freeSlots: number[] = [];
  #slots = 0;
  /** Grows when plans must be made anew, since objects that plugins read have changed. */
  epoch = 0;
  /** Those with a node object, in the order in which they are looked at; rebuilt when nodes come, go or change zones. */
  #nodes: NodeInfo[] | undefined;
  #generation = 0;
  /** Pod UID → the node it counts on. */
  readonly #placed = new Map<string, NodeInfo>();
  readonly #assumed = new Set<string>();
  readonly #claims = new ClaimIndex<NodeInfo>();
  /** Assumed pods that somebody says to have bound → until when that is believed unseen; ms. The oldest first. */
  readonly #awaited = new Map<string, number>();
  readonly #topologies = new Map<string, Topology>();
  readonly #sums = new Set<DomainSums>();
  readonly #classes = new LabelClasses();
  /** Image → nodes that have it. */
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

  /** All that count, with the node that each counts on. */
  *placed(): Iterable<{ readonly pod: PodInfo; readonly node: string }> {
    for (const { name, pods } of this.#infos.values()) for (const pod of pods.values()) yield { pod, node: name };
  }

  /** Those of `placed` that mount the claim. */
  *placedWithClaim(
    namespace: string | undefined,
    name: string,
  ): Iterable<{ readonly pod: PodInfo; readonly node: string }> {
    for (const [uid, node] of this.#claims.placesOf(namespace, name)) {
      const pod = node.pods.get(uid);
      if (pod !== undefined) yield { pod, node: node.name };
    }
  }

  /** Slots are below this number. */
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

  /** Only nodes that can be chosen count. */
  nodesWithImage(image: string): number {
    return this.#images.get(image) ?? 0;
  }

  /** Nodes with a taint that only advises against them (`PreferNoSchedule`). */
  get nodesToAvoid(): number {
    return this.#nodesToAvoid;
  }

  /** Counts placed pods that match, until `forget`. */
  countPods(matches: (pods: LabelClass) => boolean): PodCounter {
    return this.#classes.count(matches);
  }

  forgetCount(counter: PodCounter): void {
    this.#classes.forget(counter);
  }

  /** The counts by topology domain, until `forgetSums`. `eligible` depends on the node object alone. */
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

  /** Returns what has changed that could help a pod. */
  setNode(node: Node): readonly ClusterEvent[] {
    const info = this.#info(node.metadata.name ?? '');
    const old = info.node;
    const events: readonly ClusterEvent[] = old === undefined ? ['NodeAdd'] : nodeEvents(node, old);
    const newImages = differ(node.status?.images, old?.status?.images);
    if (newImages) this.#countImages(info, -1);
    info.setNode(node, newImages);
    if (newImages) this.#countImages(info, 1);
    this.#nodesToAvoid += Number(advisesAgainst(node)) - Number(advisesAgainst(old));
    if (old === undefined || events.includes('NodeLabelChange')) this.#relabelled(info);
    const cordoned = old !== undefined && node.spec.unschedulable !== old.spec.unschedulable;
    if (events.length > 0 || newImages || cordoned) this.#touch(info);
    return events;
  }

  removeNode(name: string): void {
    const info = this.#infos.get(name);
    if (info === undefined) return;
    this.#countImages(info, -1);
    this.#nodesToAvoid -= Number(advisesAgainst(info.node));
    info.setNode(undefined, true);
    this.#relabelled(info);
    this.#touch(info);
    this.#drop(info);
  }

  /** Counts the pod on a node before the API knows. */
  assume(pod: PodInfo, node: string): void {
    this.#assumed.add(pod.uid);
    this.#place(pod, node);
  }

  isAssumed(uid: string): boolean {
    return this.#assumed.has(uid);
  }

  /** Takes an assumption back: the binding failed. */
  forget(uid: string): void {
    if (this.#settled(uid)) this.#remove(uid);
  }

  /** The assumed pod is said to be bound: until `deadline` (ms) it should be seen so. False when it is seen already. */
  awaitBinding(uid: string, deadline: number): boolean {
    if (!this.#assumed.has(uid)) return false;
    this.#awaited.set(uid, deadline);
    return true;
  }

  /** When the first assumption ends that nobody has confirmed; undefined: none is awaited. */
  get nextDeadline(): number | undefined {
    for (const deadline of this.#awaited.values()) return deadline;
    return undefined;
  }

  /** Forgets the pods whose bindings should have been seen by `now` (ms), and returns them with their nodes. */
  expire(now: number): { readonly pod: PodInfo; readonly node: string }[] {
    const expired: { readonly pod: PodInfo; readonly node: string }[] = [];
    for (const [uid, deadline] of this.#awaited) {
      if (deadline > now) break;
      const node = this.#placed.get(uid);
      const pod = node?.pods.get(uid);
      if (node !== undefined && pod !== undefined) expired.push({ pod, node: node.name });
      this.forget(uid);
    }
    return expired;
  }

  /** A bound pod as the API shows it. */
  setPod(pod: Pod): void {
    const node = pod.spec.nodeName ?? '';
    const uid = pod.metadata.uid ?? '';
    if (node === '') return;
    this.#settled(uid);
    this.#place(podInfo(pod), node);
  }

  removePod(uid: string): void {
    this.#settled(uid);
    this.#remove(uid);
  }

  /** It is not assumed any more; false: it was not. */
  #settled(uid: string): boolean {
    if (!this.#assumed.delete(uid)) return false;
    this.#awaited.delete(uid);
    return true;
  }

  /**
   * Runs `what` while other pods are on the node, as far as `change` says; afterwards everything is as before. Results
   * kept by generation stay true. `counted` takes the times of the changes.
   */
  tentatively<T>(
    node: NodeInfo,
    what: (change: { add(pod: PodInfo): void; remove(pod: PodInfo): void }) => T,
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
      return what({ add, remove });
    } finally {
      for (const step of undo.reverse()) step();
      node.generation = generation;
    }
  }

  #place(pod: PodInfo, name: string): void {
    const node = this.#info(name);
    // Requests and ports of a placed pod do not change in 1.24; what selectors see of it may.
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

  /** `keep`: the node that is needed even when nothing is left on it. */
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

  #relabelled(info: NodeInfo): void {
    this.#nodes = undefined;
    for (const topology of this.#topologies.values()) topology.set(info.slot, info.labels[topology.key]);
    for (const sums of this.#sums) sums.nodeChanged(info);
  }

  /** Forgets a node that is gone and has no pods. */
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

const advisesAgainst = (node: Node | undefined): boolean =>
  node?.spec.taints?.some(({ effect }) => effect === 'PreferNoSchedule') === true;

const hasNode = ({ node }: NodeInfo): boolean => node !== undefined;

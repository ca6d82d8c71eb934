import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { FilterPoint, NodeFilter, Rejection } from '#scheduler/framework/plugin.js';
import type { At } from '#scheduler/framework/profile.js';

/** A plugin's word on a node. Equal refusals are the same object as often as that is cheap. */
export interface Refusal {
  readonly plugin: string;
  readonly rejection: Rejection;
}

/** Takes the time of a plugin's call. */
export type MeasureFilter = (plugin: string, run: () => Rejection | undefined) => Rejection | undefined;

interface PreparedFilter {
  readonly plugin: string;
  readonly node: NodeFilter;
  /** The last refusal: most are alike. */
  last: Refusal | undefined;
}

/** The filters of a profile for pods that scheduling cannot tell apart. Remembers what depends on single nodes. */
export class PodFilters {
  /** No node can take the pods. */
  readonly refusal: Refusal | undefined;
  /** Only these nodes can. */
  readonly nodeNames: ReadonlySet<string> | undefined;
  /** The local filters before the first that is not: what they say is remembered. */
  readonly #local: readonly PreparedFilter[];
  readonly #others: readonly PreparedFilter[];
  /** By slot: the generation of the node at which the local filters said what follows. */
  #asked = new Float64Array(16);
  readonly #answers: (Refusal | undefined)[] = [];

  constructor(points: readonly At<FilterPoint>[], pod: PodInfo, cluster: Cluster) {
    const local: PreparedFilter[] = [];
    const others: PreparedFilter[] = [];
    for (const { plugin, point } of points) {
      const node = point.prepare(pod, cluster);
      if (node === undefined) continue;
      (point.local && others.length === 0 ? local : others).push({ plugin, node, last: undefined });
      this.nodeNames = both(this.nodeNames, node.nodeNames);
      if (node.rejection !== undefined) this.refusal ??= { plugin, rejection: node.rejection };
    }
    this.#local = local;
    this.#others = others;
  }

  /** Undefined when the node can take the pod. */
  check(node: NodeInfo, measure?: MeasureFilter): Refusal | undefined {
    const { slot } = node;
    if (this.#asked[slot] !== node.generation || measure !== undefined) {
      if (slot >= this.#asked.length) this.#grow(slot);
      this.#answers[slot] = run(this.#local, node, measure);
      this.#asked[slot] = node.generation;
    }
    return this.#answers[slot] ?? run(this.#others, node, measure);
  }

  /** The same, while the node is tentatively other than it is. */
  checkTentative(node: NodeInfo): Refusal | undefined {
    return run(this.#local, node, undefined) ?? run(this.#others, node, undefined);
  }

  close(): void {
    for (const { node } of this.#local) node.close?.();
    for (const { node } of this.#others) node.close?.();
  }

  #grow(slot: number): void {
    const grown = new Float64Array(Math.max(slot + 1, this.#asked.length * 2));
    grown.set(this.#asked);
    this.#asked = grown;
  }
}

function run(
  filters: readonly PreparedFilter[],
  node: NodeInfo,
  measure: MeasureFilter | undefined,
): Refusal | undefined {
  for (const filter of filters) {
    const rejection =
      measure === undefined ? filter.node.filter(node) : measure(filter.plugin, () => filter.node.filter(node));
    if (rejection === undefined) continue;
    if (filter.last?.rejection !== rejection) filter.last = { plugin: filter.plugin, rejection };
    return filter.last;
  }
  return undefined;
}

function both(
  a: ReadonlySet<string> | undefined,
  b: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return new Set([...a].filter((name) => b.has(name)));
}

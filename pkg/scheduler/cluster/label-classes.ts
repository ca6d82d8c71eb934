/**
 * Placed pods grouped by namespace, labels and deletion. A selector is evaluated once per group instead of once per pod,
 * and its count is then kept current.
 */

import type { LabelledPod } from '#scheduler/cluster/affinity-term.js';
import { NodeCounts } from '#scheduler/cluster/node-counts.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** Pods of one namespace with equal labels. */
export interface LabelClass extends LabelledPod {
  /** Whether its pods are being deleted. */
  readonly terminating: boolean;
}

interface Group extends LabelClass {
  readonly key: string;
  readonly pods: NodeCounts;
  readonly counters: Set<PodCounter>;
}

/** Number of matching pods per node. */
export interface PodCounter {
  readonly counts: NodeCounts;
  readonly matches: (pods: LabelClass) => boolean;
}

export class LabelClasses {
  readonly #groups = new Map<string, Group>();
  readonly #counters = new Set<PodCounter>();

  /** Counts matching pods until `forget`. */
  count(matches: PodCounter['matches']): PodCounter {
    const counter = { counts: new NodeCounts(), matches };
    this.#counters.add(counter);
    for (const group of this.#groups.values()) {
      if (!matches(group)) continue;
      group.counters.add(counter);
      for (const [slot, count] of group.pods.entries()) counter.counts.add(slot, count);
    }
    return counter;
  }

  forget(counter: PodCounter): void {
    this.#counters.delete(counter);
    for (const group of this.#groups.values()) group.counters.delete(counter);
  }

  /** Records that a pod was added to (1) or removed from (-1) the node. */
  change(pod: PodInfo, slot: number, by: 1 | -1): void {
    const group = this.#group(pod);
    group.pods.add(slot, by);
    for (const { counts } of group.counters) counts.add(slot, by);
    if (group.pods.total === 0) this.#groups.delete(group.key);
  }

  #group({ pod, namespace, labels, labelKey: key }: PodInfo): Group {
    let group = this.#groups.get(key);
    if (group === undefined) {
      const terminating = pod.metadata.deletionTimestamp !== undefined;
      group = { key, namespace, labels, terminating, pods: new NodeCounts(), counters: new Set() };
      for (const counter of this.#counters) if (counter.matches(group)) group.counters.add(counter);
      this.#groups.set(key, group);
    }
    return group;
  }
}

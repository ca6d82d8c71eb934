/**
 * The placed pods, grouped by what selectors see of them. A selector is asked once per group, not once per pod, and
 * what it counts is kept current from then on.
 */

import type { LabelledPod } from '#scheduler/cluster/affinity-term.js';
import { NodeCounts } from '#scheduler/cluster/node-counts.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** Pods of one namespace that have the same labels. */
export interface LabelClass extends LabelledPod {
  /** Its pods are being deleted. */
  readonly terminating: boolean;
}

interface Group extends LabelClass {
  readonly key: string;
  readonly pods: NodeCounts;
  readonly counters: Set<PodCounter>;
}

/** How many pods of some kind each node has. */
export interface PodCounter {
  readonly counts: NodeCounts;
  readonly matches: (pods: LabelClass) => boolean;
}

export class LabelClasses {
  readonly #groups = new Map<string, Group>();
  readonly #counters = new Set<PodCounter>();

  /** Counts pods that match, from now until `forget`. */
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

  /** A pod came to the node (1) or left it (-1). */
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

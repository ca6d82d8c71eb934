/** The plugin points of a scheduling cycle. Plugins are pure: they read the pod and the node and decide. */
import type { NodeInfo } from '#scheduler/framework/node-info.js';
import type { PodInfo } from '#scheduler/framework/pod-info.js';

/** Changes in the cluster that may make a rejected pod schedulable. */
export type ClusterEvent =
  | 'NodeAdd'
  | 'NodeAllocatable'
  | 'NodeLabels'
  | 'NodeTaints'
  /** An assigned pod went away or gave resources back. */
  | 'AssignedPodDelete';

export type Rejection = {
  /** Counted and shown to the user: `Insufficient cpu`. */
  readonly reasons: readonly string[];
  /** No removal of pods from the node could help. */
  readonly unresolvable?: true;
};

/** Decides whether a node can take the pod. */
export interface FilterPlugin {
  readonly name: string;
  /** Events after which a pod that this plugin rejected is worth another try. */
  readonly events: readonly ClusterEvent[];
  /** Undefined when the node fits. */
  filter(pod: PodInfo, node: NodeInfo): Rejection | undefined;
}

export const maxNodeScore = 100;

/** Ranks the nodes that fit. */
export interface ScorePlugin {
  readonly name: string;
  readonly weight: number;
  /** False: every node would get the same score, so the plugin is left out of this pod's cycle. */
  relevant?(pod: PodInfo): boolean;
  score(pod: PodInfo, node: NodeInfo): number;
  /** Brings raw scores into 0…`maxNodeScore`, in place; absent when `score` does so already. */
  normalize?(scores: number[]): void;
}

/** Scales scores so that the largest becomes the maximum; `reverse` makes few good. */
export function scaleToMax(scores: number[], reverse: boolean): void {
  let max = 0;
  for (const score of scores) max = Math.max(max, score);
  for (let i = 0; i < scores.length; i++) {
    const scaled = max === 0 ? 0 : Math.floor((maxNodeScore * (scores[i] ?? 0)) / max);
    scores[i] = reverse ? maxNodeScore - scaled : scaled;
  }
}

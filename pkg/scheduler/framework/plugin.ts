/**
 * The points of a scheduling cycle at which plugins take part. A plugin first works out for a pod what it needs to
 * know (`prepare`); that is shared by all pods that scheduling cannot tell apart and is kept current by the cluster's
 * changes. Then it is asked node by node. Plugins decide from the pod, the node and the cluster alone: no I/O here.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { ClusterEvent } from '#scheduler/cluster/events.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { WaitingPods } from '#scheduler/framework/waiting-pods.js';
import type { SchedulerMetrics } from '#scheduler/metrics/metrics.js';

export interface Rejection {
  /** Counted and shown to the user: `Insufficient cpu`. */
  readonly reasons: readonly string[];
  /** No removal of pods from the node could help. */
  readonly unresolvable?: true;
}

/** What a filter has worked out for a pod. */
export interface NodeFilter {
  /** Called once per decision, before all else; what it returns is why no node at all can take the pod. */
  begin?(): Rejection | undefined;
  /** Only these nodes can; absent: any. */
  readonly nodeNames?: ReadonlySet<string>;
  /** Undefined when the node can take the pod. */
  filter(node: NodeInfo): Rejection | undefined;
  /** True as long as every node suits, whatever pods come or go: so for filters that are not local only. */
  isIdle?(): boolean;
  /** Gives back what keeps it current. */
  close?(): void;
}

export interface FilterPoint {
  /**
   * The answer for a node depends on nothing but the pod's spec and that node with its pods: it is kept until they
   * change, and shared by pods that have other labels.
   */
  readonly local: boolean;
  /** Undefined: every node suits this pod. */
  prepare(pod: PodInfo, cluster: Cluster): NodeFilter | undefined;
  /** Why that node is refused, in numbers and names; undefined where the reasons say it all, or it is not refused. */
  explain?(pod: PodInfo, cluster: Cluster, node: NodeInfo): string | undefined;
}

export const maxNodeScore = 100;

/** What a score has worked out for a pod. */
export interface NodeScore {
  /** Called once per cycle before the others, with the nodes that fit. */
  begin?(nodes: readonly NodeInfo[]): void;
  score(node: NodeInfo): number;
  /** Brings raw scores into 0…`maxNodeScore`, in place; absent when `score` does so already. */
  normalize?(scores: Float64Array, nodes: readonly NodeInfo[]): void;
  /** True as long as all nodes get the same, whatever it is: the plugin is left out of the decision. */
  isIdle?(): boolean;
  close?(): void;
}

export interface ScorePoint {
  /** As of filters. */
  readonly local: boolean;
  /** Undefined: every node would get the same score, so that the plugin is left out of this pod's cycle. */
  prepare(pod: PodInfo, cluster: Cluster): NodeScore | undefined;
}

/** How many nodes are tried when a pod makes room for itself. */
export interface PreemptionArgs {
  /** Of the nodes where preemption could help, so many percent, */
  readonly minCandidateNodesPercentage: number;
  /** but no fewer than these. */
  readonly minCandidateNodesAbsolute: number;
}

/** What a plugin may use to make its part of a decision true. */
export interface Handle {
  readonly client: Client;
  readonly clock: Clock;
  readonly cluster: Cluster;
  /** Writes bindings to the API. */
  readonly binder: { bind(pod: Pod, node: string): Promise<void> };
  /** Pods that are to be bound as soon as plugins permit it. */
  readonly waitingPods: Pick<WaitingPods, 'get' | 'values'>;
  readonly metrics: Pick<SchedulerMetrics, 'volumesFailed' | 'volumesRemembered'>;
}

/** A pod that waits for its turn. */
export interface Turn {
  readonly info: PodInfo;
  /** When it began to wait; ms of the monotonic clock. */
  readonly since: number;
}

/** Whether `a` is tried before `b`. */
export type QueueSort = (a: Turn, b: Turn) => boolean;

/** Undefined: the pod may be bound. `waitMs`: not before the plugin allows it, and not at all after that long. */
export type Permission = { readonly reject: string } | { readonly waitMs: number } | undefined;

/** What came of a pod that no node can take. `node`: where it will have room soon; `message`: why nowhere. */
export interface PostFilterResult {
  readonly node?: string;
  readonly message?: string;
}

/** Whether there will be room for the pod. */
export function isRoom(result: PostFilterResult | undefined): result is PostFilterResult & { readonly node: string } {
  return (result?.node ?? '') !== '';
}

/** Why a pod fits nowhere. */
export interface NoFit {
  readonly message: string;
  readonly nodeCount: number;
  /** Those that refused at least one node. */
  readonly plugins: ReadonlySet<string>;
}

export type PostFilter = (
  pod: PodInfo,
  refusal: NoFit,
  handle: Handle,
) => PostFilterResult | undefined | Promise<PostFilterResult | undefined>;

/** A plugin's part of a decision that must be made true before the pod is bound. */
export interface Reservation {
  /** The plugin's name. */
  readonly plugin: string;
  /** Makes it true. Rejects when that is not possible (now): the pod is tried again. */
  preBind(stop: AbortSignal): Promise<void>;
  /** The pod is not bound after all. */
  release(): void;
}

export interface Plugin {
  readonly name: string;
  /** Events after which a pod that its filter rejected is worth another try. */
  readonly events?: readonly ClusterEvent[];
  readonly filter?: FilterPoint;
  readonly score?: ScorePoint;
  /** Pods that fit nowhere may evict others. */
  readonly preemption?: PreemptionArgs;
  /** Takes what the pod needs on the node, so that the next decision knows; undefined: nothing. */
  reserve?(pod: PodInfo, node: NodeInfo, handle: Handle): Reservation | undefined;
  /** The order of the queue. */
  readonly queueSort?: QueueSort;
  /** Asked, in the order of the profile, until one finds a node. */
  readonly postFilter?: PostFilter;
  /** Whether the pod may be bound now. */
  permit?(pod: PodInfo, node: NodeInfo, handle: Handle): Permission;
  /** Makes ready what the pod needs there. Rejects when that is not possible (now): the pod is tried again. */
  preBind?(pod: PodInfo, node: NodeInfo, handle: Handle, stop: AbortSignal): Promise<void>;
  /** Binds the pod; false when that is for another plugin to do. */
  bind?(pod: PodInfo, node: NodeInfo, handle: Handle): Promise<boolean>;
  /** Hears of pods that were bound. */
  postBind?(pod: PodInfo, node: NodeInfo, handle: Handle): void;
}

/** Scales scores so that the largest becomes the maximum; `reverse` makes few good. */
export function scaleToMax(scores: Float64Array, reverse: boolean): void {
  let max = 0;
  for (const score of scores) max = Math.max(max, score);
  for (let i = 0; i < scores.length; i++) {
    const scaled = max === 0 ? 0 : Math.floor((maxNodeScore * (scores[i] ?? 0)) / max);
    scores[i] = reverse ? maxNodeScore - scaled : scaled;
  }
}

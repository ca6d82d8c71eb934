/**
 * The extension points of a scheduling cycle. A plugin first computes what it needs for a pod (`prepare`); pods that are
 * equal for scheduling share the result, and changes in the cluster keep it current. The plugin then judges each node.
 * Plugins decide from the pod, the node and the cluster alone, without I/O.
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
  /** Counted and shown to the user, such as `Insufficient cpu`. */
  readonly reasons: readonly string[];
  /** Evicting pods from the node cannot help. */
  readonly unresolvable?: true;
}

/** A filter prepared for one pod. */
export interface NodeFilter {
  /** Called once per decision before the nodes; a result means that no node can take the pod. */
  begin?(): Rejection | undefined;
  /** Only these nodes can take the pod; absent: any. */
  readonly nodeNames?: ReadonlySet<string>;
  /** Undefined when the node can take the pod. */
  filter(node: NodeInfo): Rejection | undefined;
  /** Whether every node passes for now; only for filters that are not local. */
  isIdle?(): boolean;
  /** Releases the listeners that keep it current. */
  close?(): void;
}

export interface FilterPoint {
  /**
   * The result depends only on the pod's spec, the node and the node's pods: it is cached until they change, and shared
   * by pods that differ only in labels.
   */
  readonly local: boolean;
  /** Undefined: every node passes for this pod. */
  prepare(pod: PodInfo, cluster: Cluster): NodeFilter | undefined;
  /** Explains a refusal with numbers and names; undefined if the reasons suffice or the node passes. */
  explain?(pod: PodInfo, cluster: Cluster, node: NodeInfo): string | undefined;
}

export const maxNodeScore = 100;

/** A score prepared for one pod. */
export interface NodeScore {
  /** Called once per cycle before scoring, with the nodes that passed the filters. */
  begin?(nodes: readonly NodeInfo[]): void;
  score(node: NodeInfo): number;
  /** Scales raw scores to 0…`maxNodeScore` in place; absent if `score` is already in that range. */
  normalize?(scores: Float64Array, nodes: readonly NodeInfo[]): void;
  /** Whether all nodes score the same for now, so that the plugin can be skipped. */
  isIdle?(): boolean;
  close?(): void;
}

export interface ScorePoint {
  /** As for filters. */
  readonly local: boolean;
  /** Undefined: all nodes score the same for this pod, so the plugin is skipped. */
  prepare(pod: PodInfo, cluster: Cluster): NodeScore | undefined;
}

/** How many nodes preemption tries. */
export interface PreemptionArgs {
  /** Percentage of the nodes where preemption could help. */
  readonly minCandidateNodesPercentage: number;
  /** Lower bound of that number. */
  readonly minCandidateNodesAbsolute: number;
}

/** What plugins may use to carry out a decision. */
export interface Handle {
  readonly client: Client;
  readonly clock: Clock;
  readonly cluster: Cluster;
  /** Writes bindings to the API. */
  readonly binder: { bind(pod: Pod, node: string): Promise<void> };
  /** Pods that wait for Permit plugins before they are bound. */
  readonly waitingPods: Pick<WaitingPods, 'get' | 'values'>;
  readonly metrics: Pick<SchedulerMetrics, 'volumesFailed' | 'volumesRemembered'>;
}

/** A pod in the queue, for sorting. */
export interface SortablePod {
  readonly info: PodInfo;
  /** When it entered the queue; ms of the monotonic clock. */
  readonly since: number;
}

/** Whether `a` is scheduled before `b`. */
export type QueueSort = (a: SortablePod, b: SortablePod) => boolean;

/** Undefined: the pod may be bound. `waitMs`: the pod waits until the plugin allows it, at most this long. */
export type Permission = { readonly reject: string } | { readonly waitMs: number } | undefined;

/** Result of a PostFilter plugin. `node`: where the pod will have room; `message`: why there is none. */
export interface PostFilterResult {
  readonly node?: string;
  readonly message?: string;
}

/** Whether the result nominates a node. */
export function isRoom(result: PostFilterResult | undefined): result is PostFilterResult & { readonly node: string } {
  return (result?.node ?? '') !== '';
}

/** Why a pod fits on no node. */
export interface NoFit {
  readonly message: string;
  readonly nodeCount: number;
  /** The plugins that refused at least one node. */
  readonly plugins: ReadonlySet<string>;
}

export type PostFilter = (
  pod: PodInfo,
  refusal: NoFit,
  handle: Handle,
) => PostFilterResult | undefined | Promise<PostFilterResult | undefined>;

/** Resources that a plugin reserved for a pod; completed before the pod is bound. */
export interface Reservation {
  /** The plugin's name. */
  readonly plugin: string;
  /** Completes the reservation in the API. Rejects if that fails; the pod is then retried. */
  preBind(stop: AbortSignal): Promise<void>;
  /** Undoes the reservation because the pod is not bound. */
  release(): void;
}

export interface Plugin {
  readonly name: string;
  /** Events after which a pod rejected by its filter is worth another attempt. */
  readonly events?: readonly ClusterEvent[];
  readonly filter?: FilterPoint;
  readonly score?: ScorePoint;
  /** Arguments of the built-in preemption for pods that fit nowhere. */
  readonly preemption?: PreemptionArgs;
  /** Reserves what the pod needs on the node, visible to the next decision; undefined: nothing to reserve. */
  reserve?(pod: PodInfo, node: NodeInfo, handle: Handle): Reservation | undefined;
  /** The order of the queue. */
  readonly queueSort?: QueueSort;
  /** Called in profile order until a plugin nominates a node. */
  readonly postFilter?: PostFilter;
  /** Whether the pod may be bound now. */
  permit?(pod: PodInfo, node: NodeInfo, handle: Handle): Permission;
  /** Prepares what the pod needs on the node. Rejects if that fails; the pod is then retried. */
  preBind?(pod: PodInfo, node: NodeInfo, handle: Handle, stop: AbortSignal): Promise<void>;
  /** Binds the pod; false leaves it to another plugin. */
  bind?(pod: PodInfo, node: NodeInfo, handle: Handle): Promise<boolean>;
  /** Called after a pod was bound. */
  postBind?(pod: PodInfo, node: NodeInfo, handle: Handle): void;
}

/** Scales scores so that the largest becomes the maximum; `reverse` inverts them. */
export function scaleToMax(scores: Float64Array, reverse: boolean): void {
  let max = 0;
  for (const score of scores) max = Math.max(max, score);
  for (let i = 0; i < scores.length; i++) {
    const scaled = max === 0 ? 0 : Math.floor((maxNodeScore * (scores[i] ?? 0)) / max);
    scores[i] = reverse ? maxNodeScore - scaled : scaled;
  }
}

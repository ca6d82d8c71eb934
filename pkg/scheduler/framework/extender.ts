/** Interface of extenders: processes outside the scheduler that take part in its decisions. */
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** An extender's answer to a filter call. Nodes in none of the parts are refused without a reason. */
export interface ExtenderVerdict {
  /** Names of nodes that can take the pod. */
  readonly passed: ReadonlySet<string>;
  /** Node → reason for the refusal. */
  readonly failed: ReadonlyMap<string, string>;
  /** Like `failed`, for nodes where evicting pods cannot help; overrides `failed`. */
  readonly unresolvable: ReadonlyMap<string, string>;
}

/** The pods whose eviction would make room on a node. */
export interface ProposedVictims {
  readonly pods: readonly PodInfo[];
  /** How many of them are protected by disruption budgets. */
  readonly violations: number;
}

/** Points that an extender does not serve are absent. Methods reject with an Error that states the problem. */
export interface Extender {
  /** Its URL without credentials, for refusals, logs and explanations. */
  readonly name: string;
  /** When it fails, decisions continue without it. */
  readonly ignorable: boolean;
  /** Whether it handles this pod. */
  isInterested(pod: PodInfo): boolean;
  filter?(pod: PodInfo, nodes: readonly NodeInfo[], stop: AbortSignal): Promise<ExtenderVerdict>;
  /** Node → score to add to the node's total. */
  prioritize?(pod: PodInfo, nodes: readonly NodeInfo[], stop: AbortSignal): Promise<ReadonlyMap<string, number>>;
  /** Returns a subset of `candidates` (by node name), possibly with other victims. */
  preempt?(
    pod: PodInfo,
    candidates: ReadonlyMap<string, { readonly node: NodeInfo; readonly victims: ProposedVictims }>,
    stop: AbortSignal,
  ): Promise<ReadonlyMap<string, ProposedVictims>>;
  /** Writes the binding instead of the scheduler. */
  bind?(pod: PodInfo, node: string, stop: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The points an extender can serve, in the order of a decision. */
export const extenderPoints = ['filter', 'prioritize', 'preempt', 'bind'] as const;
export type ExtenderPoint = (typeof extenderPoints)[number];

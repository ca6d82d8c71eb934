/** What decides along with the plugins from outside of the scheduler. */
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** What an extender says of the nodes that it was asked about. Nodes in none of the parts are refused without a reason. */
export interface ExtenderVerdict {
  /** Names of nodes that can take the pod. */
  readonly passed: ReadonlySet<string>;
  /** Node → why not. */
  readonly failed: ReadonlyMap<string, string>;
  /** The same, where evicting pods would change nothing; wins over `failed`. */
  readonly unresolvable: ReadonlyMap<string, string>;
}

/** Whose eviction would make room on a node. */
export interface ProposedVictims {
  readonly pods: readonly PodInfo[];
  /** How many of them disruption budgets protect. */
  readonly violations: number;
}

/** The points that an extender does not have are absent. All reject with an Error that says what is wrong. */
export interface Extender {
  /** Where it is, without credentials: in refusals, logs and explanations. */
  readonly name: string;
  /** When it fails, decisions go on without it. */
  readonly ignorable: boolean;
  /** Whether it has a say about the pod. */
  isInterested(pod: PodInfo): boolean;
  filter?(pod: PodInfo, nodes: readonly NodeInfo[], stop: AbortSignal): Promise<ExtenderVerdict>;
  /** Node → what is added to its total. */
  prioritize?(pod: PodInfo, nodes: readonly NodeInfo[], stop: AbortSignal): Promise<ReadonlyMap<string, number>>;
  /** Some of the nodes of `candidates` (by name), with the same victims or others. */
  preempt?(
    pod: PodInfo,
    candidates: ReadonlyMap<string, { readonly node: NodeInfo; readonly victims: ProposedVictims }>,
    stop: AbortSignal,
  ): Promise<ReadonlyMap<string, ProposedVictims>>;
  /** Writes the binding in the scheduler's place. */
  bind?(pod: PodInfo, node: string, stop: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** What an extender can be asked, in the order of a decision. */
export const extenderPoints = ['filter', 'prioritize', 'preempt', 'bind'] as const;
export type ExtenderPoint = (typeof extenderPoints)[number];

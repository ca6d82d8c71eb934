/** Selects the pods to evict from a node so that another fits; rules of release 1.24. */
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Budget } from '#scheduler/cluster/objects.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Rejection } from '#scheduler/framework/plugin.js';

export interface Victims {
  /** Pods protected by budgets first; in each part the most important first. */
  readonly pods: readonly PodInfo[];
  /** How many of them are protected by budgets. */
  readonly violations: number;
  /** Keys of the violated budgets. */
  readonly budgets: readonly string[];
  /** Highest priority among them. */
  readonly highest: number;
  /** Sum of their priorities, each counted from the lowest possible, so that fewer pods always sum to less. */
  readonly sum: number;
  /** Earliest start among the pods with the highest priority. */
  readonly firstStart: string;
}

/** Changes a node on trial; undone afterwards. */
export interface Trial {
  add(pod: PodInfo): void;
  remove(pod: PodInfo): void;
  /** Whether the changed node can take the pod. */
  check(): Refusal | undefined;
}

/** Sorts after every time. */
const notStarted = '9999';

const noVictims: Rejection = { reasons: ['No preemption victims found for incoming pod'], unresolvable: true };

/** Removes all pods of lower priority, then restores as many as possible, the most important first. */
export function selectVictims(
  pod: PodInfo,
  node: NodeInfo,
  trial: Trial,
  budgets: readonly Budget[],
): Victims | Rejection {
  const lower = [...node.pods.values()].filter(({ priority }) => priority < pod.priority);
  if (lower.length === 0) return noVictims;
  for (const other of lower) trial.remove(other);
  const refusal = trial.check();
  if (refusal !== undefined) return refusal.rejection;
  const { exhausted, free, violating } = byBudgets(lower.sort(moreImportant), budgets);
  const mustGo = (other: PodInfo): boolean => {
    trial.add(other);
    if (trial.check() === undefined) return false;
    trial.remove(other);
    return true;
  };
  const protectedOnes = violating.filter(mustGo);
  const keys = exhausted.filter((budget) => protectedOnes.some((each) => budget.covers(each))).map(({ key }) => key);
  return victimsOf([...protectedOnes, ...free.filter(mustGo)], protectedOnes.length, keys);
}

/** `violations`: how many are protected by budgets; `budgets`: their keys, if available. */
export function victimsOf(pods: readonly PodInfo[], violations: number, budgets: readonly string[] = []): Victims {
  const highest = pods.reduce((max, { priority }) => Math.max(max, priority), Number.NEGATIVE_INFINITY);
  const starts = pods.filter(({ priority }) => priority === highest).map(startOf);
  return {
    pods,
    violations,
    budgets,
    highest,
    sum: pods.reduce((total, { priority }) => total + priority + 2 ** 31, 0),
    firstStart: [...starts, notStarted].sort(inOrder)[0] ?? notStarted,
  };
}

interface ByBudgets {
  readonly violating: PodInfo[];
  readonly free: PodInfo[];
  /** Budgets that allow fewer evictions than requested. */
  readonly exhausted: Budget[];
}

/** Splits the pods into those whose eviction would exceed a budget, counted in order, and the rest. */
function byBudgets(pods: readonly PodInfo[], budgets: readonly Budget[]): ByBudgets {
  const allowed = budgets.map((budget) => budget.allowed);
  const violating: PodInfo[] = [];
  const free: PodInfo[] = [];
  for (const pod of pods) {
    let violates = false;
    for (const [i, budget] of budgets.entries()) {
      if (!budget.covers(pod)) continue;
      const remaining = (allowed[i] ?? 0) - 1;
      allowed[i] = remaining;
      if (remaining < 0) violates = true;
    }
    (violates ? violating : free).push(pod);
  }
  return { violating, free, exhausted: budgets.filter((_, i) => (allowed[i] ?? 0) < 0) };
}

/** Sorts by priority, then by running time, then by UID. */
function moreImportant(a: PodInfo, b: PodInfo): number {
  return b.priority - a.priority || inOrder(startOf(a), startOf(b)) || inOrder(a.uid, b.uid);
}

const inOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Timestamps in this format sort as strings. */
const startOf = ({ pod }: PodInfo): string => pod.status?.startTime ?? notStarted;

export interface Candidate {
  readonly node: NodeInfo;
  readonly victims: Victims;
}

/**
 * The node whose victims cost least: fewest protected by budgets, then the lowest top priority, the lowest sum of
 * priorities, the fewest victims, and the latest start; the first among equals. Rules of release 1.24.
 */
export function cheapest(candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined;
  for (const candidate of candidates) if (best === undefined || isCheaper(candidate, best)) best = candidate;
  return best;
}

function isCheaper({ victims: a }: Candidate, { victims: b }: Candidate): boolean {
  if (a.violations !== b.violations) return a.violations < b.violations;
  if (a.highest !== b.highest) return a.highest < b.highest;
  if (a.sum !== b.sum) return a.sum < b.sum;
  if (a.pods.length !== b.pods.length) return a.pods.length < b.pods.length;
  return a.firstStart > b.firstStart;
}

/** Which pods must go from a node so that another fits. Rules of release 1.24. */
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Budget } from '#scheduler/cluster/objects.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Rejection } from '#scheduler/framework/plugin.js';

export interface Victims {
  /** Those that budgets protect first; in each part the most important first. */
  readonly pods: readonly PodInfo[];
  /** How many of them budgets protect. */
  readonly violations: number;
  /** Keys of the budgets that do. */
  readonly budgets: readonly string[];
  /** Of their priorities. */
  readonly highest: number;
  /** Of their priorities counted from the least possible, so that fewer pods are always less. */
  readonly sum: number;
  /** When the first of the most important started. */
  readonly firstStart: string;
}

/** What can be tried on a node; undone afterwards. */
export interface Trial {
  add(pod: PodInfo): void;
  remove(pod: PodInfo): void;
  /** Whether the node can take the pod now. */
  check(): Refusal | undefined;
}

/** After every time. */
const notStarted = '9999';

const nobodyToEvict: Rejection = { reasons: ['No preemption victims found for incoming pod'], unresolvable: true };

/** Takes all pods of lower priority away, then lets back as many as possible, the most important first. */
export function selectVictims(
  pod: PodInfo,
  node: NodeInfo,
  trial: Trial,
  budgets: readonly Budget[],
): Victims | Rejection {
  const lower = [...node.pods.values()].filter(({ priority }) => priority < pod.priority);
  if (lower.length === 0) return nobodyToEvict;
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

/** `violations`: how many of them budgets protect; `budgets`: which, as far as that is known. */
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
  /** Budgets that do not allow as many evictions. */
  readonly exhausted: Budget[];
}

/** Pods whose eviction would go beyond what their budgets allow, counted in order, and the others. */
function byBudgets(pods: readonly PodInfo[], budgets: readonly Budget[]): ByBudgets {
  const allowed = budgets.map((budget) => budget.allowed);
  const violating: PodInfo[] = [];
  const free: PodInfo[] = [];
  for (const pod of pods) {
    let violates = false;
    for (const [i, budget] of budgets.entries()) {
      if (!budget.covers(pod)) continue;
      const left = (allowed[i] ?? 0) - 1;
      allowed[i] = left;
      if (left < 0) violates = true;
    }
    (violates ? violating : free).push(pod);
  }
  return { violating, free, exhausted: budgets.filter((_, i) => (allowed[i] ?? 0) < 0) };
}

/** Sorts by priority, then by how long they run; equal ones always the same way. */
function moreImportant(a: PodInfo, b: PodInfo): number {
  return b.priority - a.priority || inOrder(startOf(a), startOf(b)) || inOrder(a.uid, b.uid);
}

const inOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Texts of times in this form sort as the times do. */
const startOf = ({ pod }: PodInfo): string => pod.status?.startTime ?? notStarted;

import type { Rejection } from '#scheduler/framework/plugin.js';

/** Why a pod fits on no node, counted by reason. */
export class FitError extends Error {
  override readonly name = 'FitError';
  readonly nodeCount: number;
  /** Names of the plugins that rejected at least one node. */
  readonly plugins: ReadonlySet<string>;
  /** Nodes that plugins would take, of which extenders say that evicting pods would change nothing. */
  readonly hopeless: ReadonlySet<string>;

  /** `refusals`: what plugins and extenders said, and of how many nodes. */
  constructor(
    nodeCount: number,
    refusals: ReadonlyMap<{ readonly plugin: string; readonly rejection: Rejection }, number>,
    hopeless: ReadonlySet<string> = new Set(),
  ) {
    const reasons = new Map<string, number>();
    for (const [{ rejection }, count] of refusals) {
      for (const reason of rejection.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + count);
    }
    super(fitMessage(nodeCount, reasons));
    this.nodeCount = nodeCount;
    this.hopeless = hopeless;
    this.plugins = new Set([...refusals.keys()].map(({ plugin }) => plugin));
  }

  /** The message with what preemption said, if it said anything. */
  afterPreemption(said: string | undefined): string {
    return said === undefined ? this.message : `${this.message} preemption: ${said}`;
  }
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.` */
function fitMessage(nodeCount: number, reasons: ReadonlyMap<string, number>): string {
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodeCount} nodes are available: ${parts.join(', ')}.`;
}

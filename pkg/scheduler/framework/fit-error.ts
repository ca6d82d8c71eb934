import type { Rejection } from '#scheduler/framework/plugin.js';

/** No node fits the pod; the message counts the nodes by reason. */
export class FitError extends Error {
  override readonly name = 'FitError';
  readonly nodeCount: number;
  /** Names of the plugins that rejected at least one node. */
  readonly plugins: ReadonlySet<string>;
  /** Nodes that pass the plugins, but where an extender says that evicting pods cannot help. */
  readonly unresolvableNodes: ReadonlySet<string>;

  /** `refusals`: each refusal with the number of its nodes. */
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
    this.unresolvableNodes = hopeless;
    this.plugins = new Set([...refusals.keys()].map(({ plugin }) => plugin));
  }

  /** The message with the preemption result appended. */
  afterPreemption(preemptionMessage: string | undefined): string {
    return preemptionMessage === undefined ? this.message : `${this.message} preemption: ${preemptionMessage}`;
  }
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.` */
function fitMessage(nodeCount: number, reasons: ReadonlyMap<string, number>): string {
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodeCount} nodes are available: ${parts.join(', ')}.`;
}

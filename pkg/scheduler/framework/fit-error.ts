/** Why a pod fits on no node, counted by reason. */
export class FitError extends Error {
  override readonly name = 'FitError';
  readonly nodeCount: number;
  /** Reason → number of nodes. */
  readonly reasons: ReadonlyMap<string, number>;
  /** Names of the plugins that rejected at least one node. */
  readonly plugins: ReadonlySet<string>;

  constructor(nodeCount: number, reasons: ReadonlyMap<string, number>, plugins: ReadonlySet<string>) {
    super(fitMessage(nodeCount, reasons));
    this.nodeCount = nodeCount;
    this.reasons = reasons;
    this.plugins = plugins;
  }
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.` */
function fitMessage(nodeCount: number, reasons: ReadonlyMap<string, number>): string {
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodeCount} nodes are available: ${parts.join(', ')}.`;
}

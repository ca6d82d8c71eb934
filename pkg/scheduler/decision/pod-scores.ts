import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { MeasureScore, PreparedScore } from '#scheduler/decision/prepared-score.js';

/** What one plugin gives to nodes, in their order. */
export interface PluginScores {
  readonly plugin: string;
  readonly weight: number;
  readonly scores: Float64Array;
}

/** The scores of a profile for pods that scheduling cannot tell apart. */
export class PodScores {
  readonly #local: readonly PreparedScore[];
  readonly #others: readonly PreparedScore[];

  /** `local` are closed by whoever made them. */
  constructor(local: readonly PreparedScore[], others: readonly PreparedScore[]) {
    this.#local = local;
    this.#others = others;
  }

  /** The nodes' totals. `slots`: more than any node's; `each` hears what every plugin gives. */
  totals(
    nodes: readonly NodeInfo[],
    slots: number,
    { each, measure }: { each?: (of: PluginScores) => void; measure?: MeasureScore } = {},
  ): Float64Array {
    const totals = new Float64Array(nodes.length);
    for (const prepared of [...this.#local, ...this.#others]) {
      const { plugin, weight } = prepared;
      const scores = prepared.scores(nodes, slots, measure);
      each?.({ plugin, weight, scores });
      for (let i = 0; i < scores.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
    }
    return totals;
  }

  close(): void {
    for (const { node } of this.#others) node.close?.();
  }
}

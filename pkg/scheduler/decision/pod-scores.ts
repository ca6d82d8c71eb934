import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { MeasureStep } from '#scheduler/decision/measure-step.js';
import type { PreparedScore } from '#scheduler/decision/prepared-score.js';

/** What one plugin gives to nodes, in their order. */
export interface PluginScores {
  readonly plugin: string;
  readonly weight: number;
  readonly scores: Float64Array;
}

export interface TotalsOptions {
  /** Called when all plugins know the nodes, before the first score. */
  readonly begun?: () => void;
  /** Hears what every plugin gives. */
  readonly each?: (of: PluginScores) => void;
  /** Takes the time of some calls, of all plugins as in release 1.24. */
  readonly step?: MeasureStep | undefined;
}

/** The scores of a profile for pods that scheduling cannot tell apart. */
export class PodScores {
  readonly #all: readonly PreparedScore[];
  readonly #others: readonly PreparedScore[];
  /** What the last call gave, one for each node; used again while there are as many. */
  #totals = new Float64Array(0);

  /** `local` are closed by whoever made them. */
  constructor(local: readonly PreparedScore[], others: readonly PreparedScore[]) {
    this.#all = [...local, ...others];
    this.#others = others;
  }

  /** The nodes' totals, but for what all nodes get alike; valid until the next call. `slots`: more than any node's. */
  totals(nodes: readonly NodeInfo[], slots: number, options: TotalsOptions = {}): Float64Array {
    const { begun, each, step } = options;
    if (this.#totals.length !== nodes.length) this.#totals = new Float64Array(nodes.length);
    const totals = this.#totals.fill(0);
    const active = step === undefined ? this.#all.filter(({ isIdle }) => !isIdle) : this.#all;
    for (const prepared of active) prepared.begin(nodes, step);
    begun?.();
    for (const prepared of active) {
      const { plugin, weight } = prepared;
      const scores = prepared.scores(nodes, slots, step);
      each?.({ plugin, weight, scores });
      addWeighted(totals, scores, weight);
    }
    return totals;
  }

  close(): void {
    for (const { node } of this.#others) node.close?.();
  }
}

function addWeighted(totals: Float64Array, scores: Float64Array, weight: number): void {
  for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
}

import { roomFor } from '#scheduler/cluster/columns.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { MeasureStep } from '#scheduler/decision/measure-step.js';
import { type PreparedFilter, type Refusal, run } from '#scheduler/decision/prepared-filter.js';

/** Filters whose results depend on a single node; results are cached until the node changes. */
export class LocalFilters {
  readonly prepared: readonly PreparedFilter[];
  /** By slot: the node's generation when its result was cached. */
  #generations = new Float64Array(16);
  readonly #results: (Refusal | undefined)[] = [];

  constructor(prepared: readonly PreparedFilter[]) {
    this.prepared = prepared;
  }

  check(node: NodeInfo, step: MeasureStep | undefined): Refusal | undefined {
    const { generation, slot } = node;
    if (this.#generations[slot] === generation && step === undefined) return this.#results[slot];
    this.#generations = roomFor(this.#generations, slot);
    const answer = run(this.prepared, node, step);
    this.#results[slot] = answer;
    this.#generations[slot] = generation;
    return answer;
  }

  checkTentative(node: NodeInfo): Refusal | undefined {
    return run(this.prepared, node, undefined);
  }

  close(): void {
    for (const { node } of this.prepared) node.close?.();
  }
}

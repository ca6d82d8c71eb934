import { roomFor } from '#scheduler/cluster/columns.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { MeasureStep } from '#scheduler/decision/measure-step.js';
import { type PreparedFilter, type Refusal, run } from '#scheduler/decision/prepared-filter.js';

/** Filters whose answers depend on single nodes, which are remembered until the node changes. */
export class LocalFilters {
  readonly prepared: readonly PreparedFilter[];
  /** By slot: the generation of the node at which the filters said what follows. */
  #asked = new Float64Array(16);
  readonly #answers: (Refusal | undefined)[] = [];

  constructor(prepared: readonly PreparedFilter[]) {
    this.prepared = prepared;
  }

  check(node: NodeInfo, step: MeasureStep | undefined): Refusal | undefined {
    const { generation, slot } = node;
    if (this.#asked[slot] === generation && step === undefined) return this.#answers[slot];
    this.#asked = roomFor(this.#asked, slot);
    const answer = run(this.prepared, node, step);
    this.#answers[slot] = answer;
    this.#asked[slot] = generation;
    return answer;
  }

  checkTentative(node: NodeInfo): Refusal | undefined {
    return run(this.prepared, node, undefined);
  }

  close(): void {
    for (const { node } of this.prepared) node.close?.();
  }
}

import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { LocalFilters } from '#scheduler/decision/local-filters.js';
import type { MeasureStep } from '#scheduler/decision/measure-step.js';
import { type PreparedFilter, type Refusal, run, statusOf } from '#scheduler/decision/prepared-filter.js';

/** The filters of a profile for pods that scheduling cannot tell apart. */
export class PodFilters {
  /** No node can take the pods; as it was when asked last. */
  refusal: Refusal | undefined;
  /** Only these nodes can; absent: any. */
  readonly nodeNames: ReadonlySet<string> | undefined;
  readonly #local: LocalFilters;
  readonly #others: readonly PreparedFilter[];
  /** Those of them that have something to say in this decision. */
  #active: readonly PreparedFilter[] = [];

  /** `local` come first; they are closed by whoever made them. */
  constructor(local: LocalFilters, others: readonly PreparedFilter[]) {
    this.#local = local;
    this.#others = others;
    for (const { node } of [...local.prepared, ...others]) {
      this.nodeNames = both(this.nodeNames, node.nodeNames);
    }
  }

  /** A decision begins. */
  begin(step?: MeasureStep): void {
    this.refusal = undefined;
    this.#active = this.#others.filter(({ node }) => node.isIdle?.() !== true);
    for (const filters of [this.#local.prepared, this.#others]) {
      for (const { node, plugin } of filters) {
        if (node.begin === undefined) continue;
        const begin = () => node.begin?.();
        const rejection = step === undefined ? begin() : step(plugin, 'PreFilter', begin, statusOf);
        if (rejection !== undefined) this.refusal ??= { plugin, rejection };
      }
    }
  }

  /** Undefined when the node can take the pod, in the decision that began last. */
  check(node: NodeInfo, step?: MeasureStep): Refusal | undefined {
    const refusal = this.#local.check(node, step);
    if (refusal !== undefined) return refusal;
    // Idle ones are called where calls are measured, as they are in release 1.24.
    const others = step === undefined ? this.#active : this.#others;
    return others.length === 0 ? undefined : run(others, node, step);
  }

  /** The same, while the node is tentatively other than it is. */
  checkTentative(node: NodeInfo): Refusal | undefined {
    return this.#local.checkTentative(node) ?? run(this.#others, node, undefined);
  }

  /** What a node would say now depends on nothing but that node with its pods. */
  isLocal(): boolean {
    return this.#others.every(({ node }) => node.isIdle?.() === true);
  }

  close(): void {
    for (const { node } of this.#others) node.close?.();
  }
}

function both(a: ReadonlySet<string> | undefined, b: ReadonlySet<string> | undefined): ReadonlySet<string> | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return new Set([...a].filter((name) => b.has(name)));
}

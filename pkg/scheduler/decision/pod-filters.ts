/** The filters of a decision: cached local ones, and those that look at other nodes. */
import { roomFor } from '#scheduler/cluster/columns.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { MeasureStep } from '#scheduler/decision/measure-step.js';
import { type PreparedFilter, type Refusal, run, statusOf } from '#scheduler/decision/prepared-filter.js';

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

/** The filters of a profile for pods that are equal for scheduling. */
export class PodFilters {
  /** Why no node can take the pods, as of the last `begin`. */
  refusal: Refusal | undefined;
  /** Only these nodes can take the pods; absent: any. */
  readonly nodeNames: ReadonlySet<string> | undefined;
  readonly #local: LocalFilters;
  readonly #global: readonly PreparedFilter[];
  /** The global filters that are not idle in this decision. */
  #active: readonly PreparedFilter[] = [];

  /** `local` run first; their owner closes them. */
  constructor(local: LocalFilters, global: readonly PreparedFilter[]) {
    this.#local = local;
    this.#global = global;
    for (const { node } of [...local.prepared, ...global]) {
      this.nodeNames = intersection(this.nodeNames, node.nodeNames);
    }
  }

  /** Begins a decision. */
  begin(step?: MeasureStep): void {
    this.refusal = undefined;
    this.#active = this.#global.filter(({ node }) => node.isIdle?.() !== true);
    for (const filters of [this.#local.prepared, this.#global]) {
      for (const { node, plugin } of filters) {
        if (node.begin === undefined) continue;
        const begin = () => node.begin?.();
        const rejection = step === undefined ? begin() : step(plugin, 'PreFilter', begin, statusOf);
        if (rejection !== undefined) this.refusal ??= { plugin, rejection };
      }
    }
  }

  /** Checks the node in the current decision; undefined: it can take the pod. */
  check(node: NodeInfo, step?: MeasureStep): Refusal | undefined {
    const refusal = this.#local.check(node, step);
    if (refusal !== undefined) return refusal;
    // When calls are measured, idle filters run too, as in release 1.24.
    const filters = step === undefined ? this.#active : this.#global;
    return filters.length === 0 ? undefined : run(filters, node, step);
  }

  /** Like `check`, while pods are added to or removed from the node on trial. */
  checkTentative(node: NodeInfo): Refusal | undefined {
    return this.#local.checkTentative(node) ?? run(this.#global, node, undefined);
  }

  /** Whether the current results depend only on each node and its pods. */
  isLocal(): boolean {
    return this.#global.every(({ node }) => node.isIdle?.() === true);
  }

  close(): void {
    for (const { node } of this.#global) node.close?.();
  }
}

function intersection(
  a: ReadonlySet<string> | undefined,
  b: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return new Set([...a].filter((name) => b.has(name)));
}

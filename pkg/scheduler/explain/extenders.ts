/** Calls extenders for an explanation, or reports that they were not called. */
import { messageOf } from '#apimachinery/errors/message.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { filterByExtenders, interestedIn } from '#scheduler/decision/extenders.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { ExtenderReport } from '#scheduler/explain/explanation.js';
import { type Extender, type ExtenderPoint, extenderPoints } from '#scheduler/framework/extender.js';

export interface InquiryExtenders {
  readonly extenders: readonly Extender[];
  /** Absent: extenders are reported without being called. */
  readonly ask?: AbortSignal;
}

/** Calls only the points without side effects: filter and prioritize. */
export class Inquiry {
  readonly #pod: PodInfo;
  readonly #extenders: readonly Extender[];
  readonly #ask: AbortSignal | undefined;
  readonly #called = new Map<Extender, ExtenderPoint[]>();
  readonly #errors = new Map<Extender, string>();

  constructor(pod: PodInfo, { ask, extenders }: InquiryExtenders) {
    this.#pod = pod;
    this.#extenders = interestedIn(pod, extenders);
    this.#ask = ask;
  }

  get names(): ReadonlySet<string> {
    return new Set(this.#extenders.map(({ name }) => name));
  }

  /** Whether an extender may refuse nodes. */
  get filters(): boolean {
    return this.#extenders.some(({ filter }) => filter !== undefined);
  }

  /** Reports of all extenders that are interested in the pod. */
  reports(): ExtenderReport[] {
    return this.#extenders.map((extender) => {
      const error = this.#errors.get(extender);
      return {
        extender: extender.name,
        points: extenderPoints.filter((point) => extender[point] !== undefined),
        called: this.#called.get(extender) ?? [],
        ...(error === undefined ? {} : { error }),
      };
    });
  }

  /** Returns the failure that prevents a decision; otherwise the remaining nodes and the refusals of the others. */
  async filter(
    nodes: readonly NodeInfo[],
  ): Promise<
    | { readonly left: readonly NodeInfo[]; readonly refusals: ReadonlyMap<NodeInfo, Refusal> }
    | { readonly failure: string }
  > {
    const stop = this.#ask;
    let remaining = nodes;
    const refusals = new Map<NodeInfo, Refusal>();
    if (stop === undefined) return { left: remaining, refusals };
    for (const extender of this.#extenders) {
      if (extender.filter === undefined || remaining.length === 0) continue;
      this.#recordCall(extender, 'filter');
      const onFailure = (_name: string, _point: ExtenderPoint, error: unknown) => this.#recordFailure(extender, error);
      try {
        const filtered = await filterByExtenders(this.#pod, remaining, { extenders: [extender], stop, onFailure });
        remaining = filtered.feasible;
        for (const [node, refusal] of filtered.refusals) refusals.set(node, refusal);
      } catch (error) {
        stop.throwIfAborted();
        this.#recordFailure(extender, error);
        return { failure: `extender ${extender.name}: ${messageOf(error)}` };
      }
    }
    return { left: remaining, refusals };
  }

  /** The extenders' scores per node, in the order of the nodes. */
  async ranks(nodes: readonly NodeInfo[]): Promise<{ readonly plugin: string; readonly scores: Float64Array }[]> {
    const stop = this.#ask;
    if (stop === undefined || nodes.length < 2) return [];
    const rankings: { plugin: string; scores: Float64Array }[] = [];
    for (const extender of this.#extenders) {
      if (extender.prioritize === undefined) continue;
      this.#recordCall(extender, 'prioritize');
      try {
        const scores = await extender.prioritize(this.#pod, nodes, stop);
        rankings.push({ plugin: extender.name, scores: Float64Array.from(nodes, ({ name }) => scores.get(name) ?? 0) });
      } catch (error) {
        stop.throwIfAborted();
        this.#recordFailure(extender, error);
      }
    }
    return rankings;
  }

  #recordCall(extender: Extender, point: ExtenderPoint): void {
    this.#called.set(extender, [...(this.#called.get(extender) ?? []), point]);
  }

  #recordFailure(extender: Extender, error: unknown): void {
    this.#errors.set(extender, messageOf(error));
  }
}

/** What extenders say to an explanation; or that they were not asked. */
import { messageOf } from '#apimachinery/errors/message.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { filterByExtenders, interestedIn } from '#scheduler/decision/extenders.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { ExtenderReport } from '#scheduler/explain/explanation.js';
import { type Extender, type ExtenderPoint, extenderPoints } from '#scheduler/framework/extender.js';

export interface AskedExtenders {
  readonly extenders: readonly Extender[];
  /** Absent: they are told of and not asked. */
  readonly ask?: AbortSignal;
}

/** Asks what changes nothing: which nodes pass, and how they rank. */
export class Inquiry {
  readonly #pod: PodInfo;
  readonly #extenders: readonly Extender[];
  readonly #ask: AbortSignal | undefined;
  readonly #asked = new Map<Extender, ExtenderPoint[]>();
  readonly #errors = new Map<Extender, string>();

  constructor(pod: PodInfo, { ask, extenders }: AskedExtenders) {
    this.#pod = pod;
    this.#extenders = interestedIn(pod, extenders);
    this.#ask = ask;
  }

  get names(): ReadonlySet<string> {
    return new Set(this.#extenders.map(({ name }) => name));
  }

  /** Whether one of them may refuse nodes. */
  get filters(): boolean {
    return this.#extenders.some(({ filter }) => filter !== undefined);
  }

  /** Of all that are interested in the pod. */
  reports(): ExtenderReport[] {
    return this.#extenders.map((extender) => {
      const error = this.#errors.get(extender);
      return {
        extender: extender.name,
        points: extenderPoints.filter((point) => extender[point] !== undefined),
        asked: this.#asked.get(extender) ?? [],
        ...(error === undefined ? {} : { error }),
      };
    });
  }

  /** Why there is no decision without one that fails; otherwise what is left of the nodes, and who refused the others. */
  async filter(
    nodes: readonly NodeInfo[],
  ): Promise<
    | { readonly left: readonly NodeInfo[]; readonly refusals: ReadonlyMap<NodeInfo, Refusal> }
    | { readonly failure: string }
  > {
    const stop = this.#ask;
    let left = nodes;
    const refusals = new Map<NodeInfo, Refusal>();
    if (stop === undefined) return { left, refusals };
    for (const extender of this.#extenders) {
      if (extender.filter === undefined || left.length === 0) continue;
      this.#note(extender, 'filter');
      const onFailure = (_name: string, _point: ExtenderPoint, error: unknown) => this.#failed(extender, error);
      try {
        const found = await filterByExtenders(this.#pod, left, { extenders: [extender], stop, onFailure });
        left = found.feasible;
        for (const [node, refusal] of found.refusals) refusals.set(node, refusal);
      } catch (error) {
        stop.throwIfAborted();
        this.#failed(extender, error);
        return { failure: `extender ${extender.name}: ${messageOf(error)}` };
      }
    }
    return { left, refusals };
  }

  /** What each adds to the totals of the nodes, in their order. */
  async ranks(nodes: readonly NodeInfo[]): Promise<{ readonly plugin: string; readonly scores: Float64Array }[]> {
    const stop = this.#ask;
    if (stop === undefined || nodes.length < 2) return [];
    const given: { plugin: string; scores: Float64Array }[] = [];
    for (const extender of this.#extenders) {
      if (extender.prioritize === undefined) continue;
      this.#note(extender, 'prioritize');
      try {
        const scores = await extender.prioritize(this.#pod, nodes, stop);
        given.push({ plugin: extender.name, scores: Float64Array.from(nodes, ({ name }) => scores.get(name) ?? 0) });
      } catch (error) {
        stop.throwIfAborted();
        this.#failed(extender, error);
      }
    }
    return given;
  }

  #note(extender: Extender, point: ExtenderPoint): void {
    this.#asked.set(extender, [...(this.#asked.get(extender) ?? []), point]);
  }

  #failed(extender: Extender, error: unknown): void {
    this.#errors.set(extender, messageOf(error));
  }
}

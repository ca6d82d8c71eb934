import type { Cluster } from '#scheduler/cluster/cluster.js';
import { roomFor } from '#scheduler/cluster/columns.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { MeasureStep } from '#scheduler/decision/measure-step.js';
import type { NodeScore, ScorePoint } from '#scheduler/framework/plugin.js';
import type { At } from '#scheduler/framework/profile.js';
import { sampledNodes } from '#scheduler/metrics/metrics.js';

/** A plugin's score for pods that it treats alike. */
export class PreparedScore {
  readonly plugin: string;
  readonly weight: number;
  readonly node: NodeScore;
  readonly #local: boolean;
  /** Raw scores of a local plugin, by slot. */
  #raw = new Float64Array(0);
  /** By slot: the node's generation when `#raw` was computed. */
  #generations = new Float64Array(0);
  /** Buffer of the last result, reused while the number of nodes is the same. */
  #scores = new Float64Array(0);

  constructor({ plugin, point, weight }: At<ScorePoint> & { readonly weight: number }, node: NodeScore) {
    this.plugin = plugin;
    this.weight = weight;
    this.node = node;
    this.#local = point.local;
  }

  /** Whether all nodes score the same. */
  get isIdle(): boolean {
    return this.node.isIdle?.() === true;
  }

  /** Must precede `scores`, with the same nodes. */
  begin(nodes: readonly NodeInfo[], step: MeasureStep | undefined): void {
    const { node, plugin } = this;
    if (step === undefined || node.begin === undefined) node.begin?.(nodes);
    else step(plugin, 'PreScore', () => node.begin?.(nodes));
  }

  /** Normalized scores; valid until the next call. `slots`: bound of the nodes' slots; `step` measures some calls. */
  scores(nodes: readonly NodeInfo[], slots: number, step: MeasureStep | undefined): Float64Array {
    const { node, plugin } = this;
    if (this.#scores.length !== nodes.length) this.#scores = new Float64Array(nodes.length);
    if (this.#local) this.#scoreChanged(nodes, slots);
    else this.#scoreAll(nodes);
    if (step !== undefined) this.#measure(nodes, step);
    if (step === undefined || node.normalize === undefined) node.normalize?.(this.#scores, nodes);
    else step(plugin, 'ScoreExtensionNormalize', () => node.normalize?.(this.#scores, nodes));
    return this.#scores;
  }

  #measure(nodes: readonly NodeInfo[], step: MeasureStep): void {
    for (const each of nodes.slice(0, sampledNodes)) step(this.plugin, 'Score', () => this.node.score(each));
  }

  #scoreAll(nodes: readonly NodeInfo[]): void {
    const { node } = this;
    const scores = this.#scores;
    for (let i = 0; i < nodes.length; i++) {
      const each = nodes[i];
      if (each !== undefined) scores[i] = node.score(each);
    }
  }

  #scoreChanged(nodes: readonly NodeInfo[], slots: number): void {
    this.#raw = roomFor(this.#raw, slots - 1);
    this.#generations = roomFor(this.#generations, slots - 1);
    const raw = this.#raw;
    const generations = this.#generations;
    const scores = this.#scores;
    for (let i = 0; i < nodes.length; i++) {
      const each = nodes[i];
      if (each === undefined) continue;
      const { generation, slot } = each;
      if (generations[slot] !== generation) {
        raw[slot] = this.node.score(each);
        generations[slot] = generation;
      }
      scores[i] = raw[slot] ?? 0;
    }
  }
}

export function prepareScores(
  points: readonly (At<ScorePoint> & { readonly weight: number })[],
  pod: PodInfo,
  cluster: Cluster,
  step?: MeasureStep,
): PreparedScore[] {
  return points.flatMap((at) => {
    const run = () => at.point.prepare(pod, cluster);
    const node = step === undefined ? run() : step(at.plugin, 'PreScore', run);
    return node === undefined ? [] : [new PreparedScore(at, node)];
  });
}

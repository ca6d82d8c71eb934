import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { NodeScore, ScorePoint } from '#scheduler/framework/plugin.js';
import type { At } from '#scheduler/framework/profile.js';

interface PreparedScore {
  readonly plugin: string;
  readonly weight: number;
  readonly node: NodeScore;
  readonly local: boolean;
  /** By slot, of local ones. */
  raw: Float64Array<ArrayBuffer>;
  /** By slot: the generation of the node that `raw` is of. */
  asked: Float64Array<ArrayBuffer>;
}

/** What one plugin gives to nodes, in their order. */
export interface PluginScores {
  readonly plugin: string;
  readonly weight: number;
  readonly scores: Float64Array;
}

/** The scores of a profile for pods that scheduling cannot tell apart. Remembers what depends on single nodes. */
export class PodScores {
  readonly #scores: readonly PreparedScore[];

  constructor(points: readonly (At<ScorePoint> & { readonly weight: number })[], pod: PodInfo, cluster: Cluster) {
    this.#scores = points.flatMap(({ plugin, weight, point }) => {
      const node = point.prepare(pod, cluster);
      if (node === undefined) return [];
      return [{ plugin, weight, node, local: point.local, raw: new Float64Array(0), asked: new Float64Array(0) }];
    });
  }

  /** The nodes' totals. `each` hears what every plugin gives; `measure` takes the time of its calls. */
  totals(
    nodes: readonly NodeInfo[],
    slots: number,
    {
      each,
      measure,
    }: { each?: (of: PluginScores) => void; measure?: (plugin: string, run: () => number) => number } = {},
  ): Float64Array {
    const totals = new Float64Array(nodes.length);
    for (const prepared of this.#scores) {
      const { node, plugin, weight } = prepared;
      node.begin?.(nodes);
      const scores = prepared.local && measure === undefined ? kept(prepared, nodes, slots) : asked(prepared, nodes, measure);
      node.normalize?.(scores, nodes);
      each?.({ plugin, weight, scores });
      for (let i = 0; i < scores.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
    }
    return totals;
  }

  close(): void {
    for (const { node } of this.#scores) node.close?.();
  }
}

function asked(
  { node, plugin }: PreparedScore,
  nodes: readonly NodeInfo[],
  measure: ((plugin: string, run: () => number) => number) | undefined,
): Float64Array {
  const scores = new Float64Array(nodes.length);
  for (let i = 0; i < nodes.length; i++) {
    const each = nodes[i];
    if (each === undefined) continue;
    scores[i] = measure === undefined ? node.score(each) : measure(plugin, () => node.score(each));
  }
  return scores;
}

function kept(prepared: PreparedScore, nodes: readonly NodeInfo[], slots: number): Float64Array {
  if (prepared.raw.length < slots) {
    prepared.raw = grown(prepared.raw, slots);
    prepared.asked = grown(prepared.asked, slots);
  }
  const { asked: at, node, raw } = prepared;
  const scores = new Float64Array(nodes.length);
  for (let i = 0; i < nodes.length; i++) {
    const each = nodes[i];
    if (each === undefined) continue;
    const { generation, slot } = each;
    if (at[slot] !== generation) {
      raw[slot] = node.score(each);
      at[slot] = generation;
    }
    scores[i] = raw[slot] ?? 0;
  }
  return scores;
}

function grown(data: Float64Array, length: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(Math.max(length, data.length * 2));
  larger.set(data);
  return larger;
}

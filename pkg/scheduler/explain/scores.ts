import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { NodeScores, PluginScore } from '#scheduler/explain/explanation.js';
import type { ClusterCopy } from '#scheduler/explain/snapshot.js';
import type { Profile } from '#scheduler/framework/profile.js';

interface PluginResult {
  readonly plugin: string;
  readonly weight: number;
  readonly raw: Float64Array;
  readonly normalized: Float64Array;
}

/** Scores of the best `limit` nodes, best first, without plugins that score all alike. `more`: further scores. */
export async function scoresOf(
  copy: ClusterCopy,
  pod: PodInfo,
  profile: Profile,
  nodes: readonly NodeInfo[],
  limit: number,
  more: readonly { readonly plugin: string; readonly scores: Float64Array }[] = [],
): Promise<NodeScores[]> {
  const results: PluginResult[] = more.map(({ plugin, scores }) => ({
    plugin,
    weight: 1,
    raw: scores,
    normalized: scores,
  }));
  for (const { plugin, point, weight } of profile.scores) {
    const score = point.prepare(pod, copy.cluster);
    if (score === undefined) continue;
    score.begin?.(nodes);
    const raw = new Float64Array(nodes.length);
    for (const [i, node] of nodes.entries()) {
      raw[i] = score.score(node);
      await copy.pace.step();
    }
    const normalized = raw.slice();
    score.normalize?.(normalized, nodes);
    score.close?.();
    results.push({ plugin, weight, raw, normalized });
  }
  const totals = nodes.map((node, i) => ({
    node,
    i,
    total: results.reduce((sum, { normalized, weight }) => sum + weight * (normalized[i] ?? 0), 0),
  }));
  totals.sort((a, b) => b.total - a.total);
  return totals.slice(0, limit).map(({ i, node, total }) => ({
    node: node.name,
    total,
    plugins: results.map((each) => scoreAt(each, i)),
  }));
}

function scoreAt({ normalized, plugin, raw, weight }: PluginResult, i: number): PluginScore {
  const score = normalized[i] ?? 0;
  return { plugin, raw: raw[i] ?? 0, normalized: score, weight, weighted: score * weight };
}

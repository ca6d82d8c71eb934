import type { Dialect } from '#apimachinery/dialect.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { PodCounter } from '#scheduler/cluster/label-classes.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import { maxNodeScore, type NodeScore, type Plugin } from '#scheduler/framework/plugin.js';

/** How much of a score a node has from its zone. */
const zoneShare = 2 / 3;

/**
 * Prefers nodes, and more so zones, with few pods of the pod's services and controller. Release 1.24 has it beside
 * PodTopologySpread, which does the same by default and is asked in its place where a pod has constraints of its own.
 */
export function selectorSpread({ labels }: Pick<Dialect, 'labels'>): Plugin {
  return {
    name: 'SelectorSpread',
    score: {
      local: false,
      prepare({ namespace, pod }, cluster) {
        if ((pod.spec.topologySpreadConstraints ?? []).length > 0) return undefined;
        const selector = cluster.objects.spreadSelector(pod);
        if (selector.isEverything) return undefined;
        const counter = cluster.countPods(
          (pods) => !pods.terminating && pods.namespace === namespace && selector.matches(pods.labels),
        );
        return new SelectorSpreadScore(counter, cluster, ({ labels: of }) => {
          const [region = '', zone = ''] = [of[labels.region], of[labels.zone]];
          return region === '' && zone === '' ? undefined : `${region}:${zone}`;
        });
      },
    },
  };
}

class SelectorSpreadScore implements NodeScore {
  readonly #counter: PodCounter;
  readonly #cluster: Cluster;
  readonly #zoneOf: (node: NodeInfo) => string | undefined;

  constructor(counter: PodCounter, cluster: Cluster, zoneOf: (node: NodeInfo) => string | undefined) {
    this.#counter = counter;
    this.#cluster = cluster;
    this.#zoneOf = zoneOf;
  }

  score({ slot }: NodeInfo): number {
    return this.#counter.counts.of(slot);
  }

  normalize(scores: Float64Array, nodes: readonly NodeInfo[]): void {
    const zones = new Map<string, number>();
    let most = 0;
    for (const [i, node] of nodes.entries()) {
      const pods = scores[i] ?? 0;
      most = Math.max(most, pods);
      const zone = this.#zoneOf(node);
      if (zone !== undefined) zones.set(zone, (zones.get(zone) ?? 0) + pods);
    }
    const mostOfZone = Math.max(0, ...zones.values());
    for (const [i, node] of nodes.entries()) {
      const own = share(scores[i] ?? 0, most);
      const zone = this.#zoneOf(node);
      const score =
        zone === undefined ? own : own * (1 - zoneShare) + zoneShare * share(zones.get(zone) ?? 0, mostOfZone);
      scores[i] = Math.trunc(score);
    }
  }

  close(): void {
    this.#cluster.forgetCount(this.#counter);
  }
}

/** The fewer of the most, the better. */
const share = (pods: number, most: number): number =>
  most === 0 ? maxNodeScore : maxNodeScore * ((most - pods) / most);

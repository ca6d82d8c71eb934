import type { Dialect } from '#apimachinery/dialect.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { PodCounter } from '#scheduler/cluster/label-classes.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import { maxNodeScore, type NodeScore, type Plugin } from '#scheduler/framework/plugin.js';

/** The zone's part of a node's score. */
const zoneShare = 2 / 3;

/**
 * Prefers nodes, and even more zones, with few pods of the pod's services and controller. PodTopologySpread does the
 * same by default and replaces it for pods with constraints.
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
    return this.#counter.counts.get(slot);
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
      const nodeShare = share(scores[i] ?? 0, most);
      const zone = this.#zoneOf(node);
      const score =
        zone === undefined
          ? nodeShare
          : nodeShare * (1 - zoneShare) + zoneShare * share(zones.get(zone) ?? 0, mostOfZone);
      scores[i] = Math.trunc(score);
    }
  }

  close(): void {
    this.#cluster.forgetCount(this.#counter);
  }
}

/** Scores fewer pods higher. */
const share = (pods: number, most: number): number =>
  most === 0 ? maxNodeScore : maxNodeScore * ((most - pods) / most);

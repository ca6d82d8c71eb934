import { asksForNodes, matchesRequiredNodeAffinity } from '#api/core/v1/affinity/node-selector.js';
import type { TopologySpreadConstraint } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { compileSelector, type LabelSelector, selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

export interface SpreadArgs {
  /** For pods without constraints of their own; their selector follows from services and controllers. */
  readonly defaultConstraints: readonly Pick<
    TopologySpreadConstraint,
    'maxSkew' | 'topologyKey' | 'whenUnsatisfiable'
  >[];
  /** The constraints are those of the system: nodes need not have all their labels. */
  readonly system: boolean;
  /** The gate MinDomainsInPodTopologySpread. */
  readonly minDomains: boolean;
}

/** What release 1.24 does for pods that say nothing: loosely over hosts and zones. */
export function systemDefaults({ labels }: Pick<Dialect, 'labels'>): SpreadArgs {
  const loosely = { whenUnsatisfiable: 'ScheduleAnyway' } as const;
  return {
    defaultConstraints: [
      { topologyKey: labels.hostname, maxSkew: 3, ...loosely },
      { topologyKey: labels.zone, maxSkew: 5, ...loosely },
    ],
    system: true,
    minDomains: false,
  };
}

export interface Constraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly selector: LabelSelector;
  readonly minDomains: number;
}

/** The pod's constraints of that sort, or the default ones when it has none at all. */
export function constraintsOf(
  { pod }: PodInfo,
  sort: 'DoNotSchedule' | 'ScheduleAnyway',
  { defaultConstraints, minDomains }: SpreadArgs,
  cluster: Cluster,
): Constraint[] {
  const own = pod.spec.topologySpreadConstraints ?? [];
  if (own.length > 0) {
    return own
      .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === sort)
      .map((constraint) => ({
        maxSkew: constraint.maxSkew,
        topologyKey: constraint.topologyKey,
        selector: compileSelector(constraint.labelSelector) ?? selectorFromObject(undefined),
        minDomains: minDomains ? (constraint.minDomains ?? 1) : 1,
      }));
  }
  const wanted = defaultConstraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === sort);
  if (wanted.length === 0) return [];
  const selector = cluster.objects.spreadSelector(pod);
  if (selector.isEverything) return [];
  return wanted.map(({ maxSkew, topologyKey }) => ({ maxSkew, topologyKey, selector, minDomains: 1 }));
}

/** Nodes whose pods count: those that the pod may use at all and, if `keys` are given, that have all these labels. */
export function countingNodes({ pod }: PodInfo, keys: readonly string[]): (node: NodeInfo) => boolean {
  const asks = asksForNodes(pod.spec);
  return ({ labels, node }) =>
    node !== undefined &&
    keys.every((key) => labels[key] !== undefined) &&
    (!asks || matchesRequiredNodeAffinity(pod.spec, node));
}

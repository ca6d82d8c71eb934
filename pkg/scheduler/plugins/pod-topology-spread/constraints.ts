import { asksForNodes, matchesRequiredNodeAffinity } from '#api/core/v1/affinity/node-selector.js';
import type { TopologySpreadConstraint } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { compileSelector, type LabelSelector, selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { DomainSums } from '#scheduler/cluster/domain-sums.js';
import type { PodCounter } from '#scheduler/cluster/label-classes.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** A constraint with counts of its pods: the matching ones in the pod's namespace that are not being deleted. */
export interface CountedConstraint extends Constraint {
  readonly counter: PodCounter;
  /** Counts by domain over the eligible nodes. */
  readonly sums: DomainSums;
  close(): void;
}

export function countFor(
  constraint: Constraint,
  { namespace }: PodInfo,
  cluster: Cluster,
  counts: (node: NodeInfo) => boolean,
): CountedConstraint {
  const counter = cluster.countPods(
    (pods) => !pods.terminating && pods.namespace === namespace && constraint.selector.matches(pods.labels),
  );
  const sums = cluster.sumUp(counter.counts, constraint.topologyKey, counts);
  return {
    ...constraint,
    counter,
    sums,
    close() {
      cluster.forgetSums(sums);
      cluster.forgetCount(counter);
    },
  };
}

export interface SpreadArgs {
  /** For pods without constraints; their selectors come from services and controllers. */
  readonly defaultConstraints: readonly Pick<
    TopologySpreadConstraint,
    'maxSkew' | 'topologyKey' | 'whenUnsatisfiable'
  >[];
  /** Whether these are the system defaults: nodes may then lack some of the labels. */
  readonly system: boolean;
  /** The feature gate MinDomainsInPodTopologySpread. */
  readonly minDomains: boolean;
}

/** The defaults of release 1.24 for pods without constraints: soft spreading over hosts and zones. */
export function systemDefaults({ labels }: Pick<Dialect, 'labels'>): SpreadArgs {
  const soft = { whenUnsatisfiable: 'ScheduleAnyway' } as const;
  return {
    defaultConstraints: [
      { topologyKey: labels.hostname, maxSkew: 3, ...soft },
      { topologyKey: labels.zone, maxSkew: 5, ...soft },
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

/** The pod's constraints of this kind, or the default ones if it has no constraints at all. */
export function constraintsOf(
  { pod }: PodInfo,
  sort: 'DoNotSchedule' | 'ScheduleAnyway',
  { defaultConstraints, minDomains }: SpreadArgs,
  cluster: Cluster,
): Constraint[] {
  const podConstraints = pod.spec.topologySpreadConstraints ?? [];
  if (podConstraints.length > 0) {
    return podConstraints
      .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === sort)
      .map((constraint) => ({
        maxSkew: constraint.maxSkew,
        topologyKey: constraint.topologyKey,
        selector: compileSelector(constraint.labelSelector) ?? selectorFromObject(undefined),
        minDomains: minDomains ? (constraint.minDomains ?? 1) : 1,
      }));
  }
  const defaults = defaultConstraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === sort);
  if (defaults.length === 0) return [];
  const selector = cluster.objects.spreadSelector(pod);
  if (selector.isEverything) return [];
  return defaults.map(({ maxSkew, topologyKey }) => ({ maxSkew, topologyKey, selector, minDomains: 1 }));
}

/** Nodes whose pods count: nodes that match the pod's node affinity and have all labels of `keys`. */
export function countingNodes({ pod }: PodInfo, keys: readonly string[]): (node: NodeInfo) => boolean {
  const isEligible = asksForNodes(pod.spec);
  return ({ labels, node }) =>
    node !== undefined &&
    keys.every((key) => labels[key] !== undefined) &&
    (!isEligible || matchesRequiredNodeAffinity(pod.spec, node));
}

import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { MeasureStep } from '#scheduler/decision/measure-step.js';
import type { FilterPoint, NodeFilter, Rejection } from '#scheduler/framework/plugin.js';
import type { At } from '#scheduler/framework/profile.js';
import type { PluginStatus } from '#scheduler/metrics/metrics.js';

/** A plugin's refusal of a node. Equal refusals share an object where that is cheap. */
export interface Refusal {
  readonly plugin: string;
  readonly rejection: Rejection;
}

export interface PreparedFilter {
  readonly plugin: string;
  readonly node: NodeFilter;
  /** The last refusal, reused because most are equal. */
  last: Refusal | undefined;
}

export function prepare(
  points: readonly At<FilterPoint>[],
  pod: PodInfo,
  cluster: Cluster,
  step?: MeasureStep,
): PreparedFilter[] {
  return points.flatMap(({ plugin, point }) => {
    const run = () => point.prepare(pod, cluster);
    const node = step === undefined ? run() : step(plugin, 'PreFilter', run);
    return node === undefined ? [] : [{ plugin, node, last: undefined }];
  });
}

export function statusOf(rejection: Rejection | undefined): PluginStatus {
  if (rejection === undefined) return 'Success';
  return rejection.unresolvable === true ? 'UnschedulableAndUnresolvable' : 'Unschedulable';
}

/** Runs the filters in order and returns the first refusal. */
export function run(
  filters: readonly PreparedFilter[],
  node: NodeInfo,
  step: MeasureStep | undefined,
): Refusal | undefined {
  for (const filter of filters) {
    const rejection =
      step === undefined
        ? filter.node.filter(node)
        : step(filter.plugin, 'Filter', () => filter.node.filter(node), statusOf);
    if (rejection === undefined) continue;
    if (filter.last?.rejection !== rejection) filter.last = { plugin: filter.plugin, rejection };
    return filter.last;
  }
  return undefined;
}

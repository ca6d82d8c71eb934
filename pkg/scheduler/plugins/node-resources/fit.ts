import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Plugin, Rejection } from '#scheduler/framework/plugin.js';
import { amountsOf, type ResourceWeight } from '#scheduler/plugins/node-resources/amounts.js';
import {
  leastAllocated,
  mostAllocated,
  requestedToCapacityRatio,
} from '#scheduler/plugins/node-resources/strategies.js';

export type ScoringStrategy =
  | { readonly type: 'LeastAllocated' | 'MostAllocated'; readonly resources: readonly ResourceWeight[] }
  | {
      readonly type: 'RequestedToCapacityRatio';
      readonly resources: readonly ResourceWeight[];
      /** Points by utilization in percent, ascending; scores 0 to 10. */
      readonly shape: readonly { readonly utilization: number; readonly score: number }[];
    };

export interface NodeResourcesFitArgs {
  /** Extended resources that the filter ignores. */
  readonly ignoredResources?: readonly string[];
  /** Prefixes (before the slash) of extended resources that the filter ignores. */
  readonly ignoredResourceGroups?: readonly string[];
  readonly scoringStrategy?: ScoringStrategy;
}

const cpuAndMemory: readonly ResourceWeight[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];

/** Passes nodes with enough unrequested resources and room for one more pod. */
export function nodeResourcesFit(args: NodeResourcesFitArgs = {}): Plugin {
  const strategy = args.scoringStrategy ?? { type: 'LeastAllocated', resources: cpuAndMemory };
  const score = scorerOf(strategy);
  const ignores = ignored(args);
  return {
    name: 'NodeResourcesFit',
    events: ['NodeAdd', 'NodeAllocatableChange', 'AssignedPodDelete'],
    filter: {
      local: true,
      prepare(pod) {
        const rejections = new Map<string, Rejection>();
        return {
          filter(node) {
            const lacking = insufficient(pod, node, ignores);
            if (lacking === undefined) return undefined;
            const key = lacking.join();
            let rejection = rejections.get(key);
            if (rejection === undefined) {
              rejection = {
                reasons: lacking.map((name) => (name === 'pods' ? 'Too many pods' : `Insufficient ${name}`)),
              };
              rejections.set(key, rejection);
            }
            return rejection;
          },
        };
      },
    },
    score: {
      local: true,
      prepare: (pod) => ({ score: (node) => score(amountsOf(pod, node, strategy.resources, 'assumed')) }),
    },
  };
}

/** The resources that the node lacks; `pods` for the pod count. */
function insufficient(
  { requests }: PodInfo,
  { allocatable, maxPods, pods, requested }: NodeInfo,
  ignores: (resource: string) => boolean,
): string[] | undefined {
  let lacking: string[] | undefined;
  const lacks = (name: string) => {
    lacking ??= [];
    lacking.push(name);
  };
  if (pods.size + 1 > maxPods) lacks('pods');
  const { ephemeralStorage, memory, milliCpu, scalars } = requests;
  if (milliCpu === 0 && memory === 0 && ephemeralStorage === 0 && scalars === undefined) return lacking;
  // A pod with requests never goes to a node that is overcommitted in one of the requested resources.
  const fits = (request: number, capacity: number, used: number) => request <= capacity - used;
  if (!fits(milliCpu, allocatable.milliCpu, requested.milliCpu)) lacks('cpu');
  if (!fits(memory, allocatable.memory, requested.memory)) lacks('memory');
  if (!fits(ephemeralStorage, allocatable.ephemeralStorage, requested.ephemeralStorage)) lacks('ephemeral-storage');
  if (scalars === undefined) return lacking;
  for (const [name, amount] of scalars) {
    const capacity = allocatable.scalars?.get(name) ?? 0;
    if (!ignores(name) && !fits(amount, capacity, requested.scalars?.get(name) ?? 0)) lacks(name);
  }
  return lacking;
}

function ignored({
  ignoredResources = [],
  ignoredResourceGroups = [],
}: NodeResourcesFitArgs): (name: string) => boolean {
  const names = new Set(ignoredResources);
  const groups = new Set(ignoredResourceGroups);
  return (name) => names.has(name) || groups.has(name.split('/')[0] ?? '');
}

function scorerOf(strategy: ScoringStrategy) {
  switch (strategy.type) {
    case 'LeastAllocated':
      return leastAllocated;
    case 'MostAllocated':
      return mostAllocated;
    case 'RequestedToCapacityRatio':
      return requestedToCapacityRatio(strategy.shape);
  }
}

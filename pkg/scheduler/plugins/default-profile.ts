import type { Dialect } from '#apimachinery/dialect.js';
import type { FilterPlugin, ScorePlugin } from '#scheduler/framework/plugin.js';
import { nodeAffinity, preferredNodeAffinity } from '#scheduler/plugins/node-affinity.js';
import { nodeName } from '#scheduler/plugins/node-name.js';
import { nodePorts } from '#scheduler/plugins/node-ports.js';
import { balancedAllocation, leastAllocated, nodeResourcesFit } from '#scheduler/plugins/node-resources.js';
import { nodeUnschedulable } from '#scheduler/plugins/node-unschedulable.js';
import { replicaSpread } from '#scheduler/plugins/replica-spread.js';
import { preferUntainted, taintToleration } from '#scheduler/plugins/taint-toleration.js';

/** Which plugins decide for the pods of one scheduler name, in order. */
export interface Profile {
  readonly schedulerName: string;
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly ScorePlugin[];
}

/** The plugins that release 1.24 enables by default, as far as they exist here. */
export function defaultProfile(dialect: Dialect): Profile {
  return {
    schedulerName: dialect.components.defaultScheduler,
    filters: [nodeUnschedulable(dialect), nodeName, taintToleration, nodeAffinity, nodePorts, nodeResourcesFit],
    scores: [balancedAllocation, leastAllocated, preferredNodeAffinity, preferUntainted, replicaSpread],
  };
}

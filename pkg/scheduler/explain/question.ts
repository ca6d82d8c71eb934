import type { Dialect } from '#apimachinery/dialect.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { FilterPoint } from '#scheduler/framework/plugin.js';

/** A node that a plugin refused, for the explanation of the refusal. */
export interface Question {
  readonly plugin: string;
  /** The plugin's filter; undefined if it is no plugin of the profile. */
  readonly filter: FilterPoint | undefined;
  readonly pod: PodInfo;
  readonly node: NodeInfo;
  readonly cluster: Cluster;
  readonly dialect: Dialect;
}

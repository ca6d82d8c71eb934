/** What the managers of resources tell about possible placements of a container on NUMA nodes. */
import type { NumaMask } from '#nodeagent/allocation/topology/numa-mask.js';

/** One possible placement. */
export interface TopologyHint {
  /** Absent: any nodes. */
  readonly nodes?: NumaMask;
  /** No other placement of the resource uses fewer nodes. */
  readonly preferred: boolean;
}

/** Placements by resource. An absent resource has no preference; an empty list is a request that fits nowhere. */
export type ResourceHints = ReadonlyMap<string, readonly TopologyHint[]>;

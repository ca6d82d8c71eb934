/** Placements of devices on NUMA nodes (devicemanager generateDeviceTopologyHints of 1.24). Pure. */
import type { TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import { hasNode, type NumaMask, nodeCount, subsets } from '#nodeagent/allocation/topology/numa-mask.js';
import type { DeviceSet } from '#nodeagent/devices/device.js';

export interface HintInput {
  readonly count: number;
  readonly devices: DeviceSet;
  /** Devices that the container may get. */
  readonly available: ReadonlySet<string>;
  /** Devices that init containers of the pod had: the container gets them in any case. */
  readonly reusable: ReadonlySet<string>;
  /** IDs of the machine's NUMA nodes. */
  readonly nodes: readonly number[];
}

/** Empty if no placement suffices. Preferred are the placements on the fewest nodes that could ever suffice. */
export function deviceHints({ count, devices, available, reusable, nodes }: HintInput): TopologyHint[] {
  let fewest = nodes.length;
  const masks: NumaMask[] = [];
  const isIn = (mask: NumaMask, id: string) => devices.get(id)?.nodes?.some((node) => hasNode(mask, node)) === true;
  for (const mask of subsets(nodes)) {
    const total = [...devices.keys()].filter((id) => isIn(mask, id)).length;
    if (total >= count && nodeCount(mask) < fewest) fewest = nodeCount(mask);
    const placed = [...reusable].filter((id) => devices.get(id)?.nodes !== undefined);
    if (!placed.every((id) => isIn(mask, id))) continue;
    const matching = placed.length + [...available].filter((id) => isIn(mask, id)).length;
    if (matching >= count) masks.push(mask);
  }
  return masks.map((mask) => ({ nodes: mask, preferred: nodeCount(mask) === fewest }));
}

/** Devices as their plugins report them. */

export interface Device {
  readonly id: string;
  readonly isHealthy: boolean;
  /** NUMA nodes that it is close to; empty: all alike. Undefined: the plugin tells nothing about topology. */
  readonly nodes?: readonly number[];
}

/** The devices of a resource, by ID. */
export type DeviceSet = ReadonlyMap<string, Device>;

/** Stands for devices without a NUMA node, as in 1.24. */
export const withoutNode = -1;

/** If any device of a resource tells its nodes, its placement matters. */
export function hasTopology(devices: DeviceSet): boolean {
  for (const { nodes } of devices.values()) if (nodes !== undefined) return true;
  return false;
}

/** IDs by NUMA node, or by `withoutNode`; a device of several nodes is in each. */
export type DevicesByNode = ReadonlyMap<number, readonly string[]>;

export function byNode(ids: Iterable<string>, devices: DeviceSet): DevicesByNode {
  const groups = new Map<number, string[]>();
  for (const id of ids) {
    const { nodes = [] } = devices.get(id) ?? {};
    for (const node of nodes.length === 0 ? [withoutNode] : nodes) groups.set(node, [...(groups.get(node) ?? []), id]);
  }
  return groups;
}

export function idsOf(groups: DevicesByNode): ReadonlySet<string> {
  return new Set([...groups.values()].flat());
}

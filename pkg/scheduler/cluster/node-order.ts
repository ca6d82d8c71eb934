import type { NodeInfo } from '#scheduler/cluster/node-info.js';

/**
 * The nodes, taking one of each zone in turn, so that a sample of a large cluster covers all zones. As in release 1.24, a
 * zone is the pair of region and zone label.
 */
export function byZones(
  nodes: Iterable<NodeInfo>,
  labels: { readonly region: string; readonly zone: string },
): NodeInfo[] {
  const zones = new Map<string, NodeInfo[]>();
  let count = 0;
  for (const node of nodes) {
    const zone = `${node.labels[labels.region] ?? ''}:${node.labels[labels.zone] ?? ''}`;
    const members = zones.get(zone);
    if (members === undefined) zones.set(zone, [node]);
    else members.push(node);
    count++;
  }
  if (zones.size === 1) return [...zones.values()].flat();
  const order: NodeInfo[] = [];
  for (let round = 0; order.length < count; round++) {
    for (const members of zones.values()) {
      const node = members[round];
      if (node !== undefined) order.push(node);
    }
  }
  return order;
}

/** Which routes are missing and which are too many; as in 1.24. Pure. */
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import type { Node, NodeCondition } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { blockHolds, type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import type { Route } from '#cloud/provider/provider.js';

export interface WantedRoute {
  readonly node: Node;
  readonly destinationCIDR: string;
}

export interface RoutePlan {
  readonly creates: readonly WantedRoute[];
  readonly deletes: readonly Route[];
}

/** `clusterRanges`: routes to elsewhere are not ours. */
export function planRoutes(
  nodes: readonly Node[],
  routes: readonly Route[],
  clusterRanges: readonly IPBlock[],
): RoutePlan {
  const key = (node: string, cidr: string) => `${node} ${cidr}`;
  const wanted = nodes.flatMap((node) =>
    (node.spec.podCIDRs ?? []).map((destinationCIDR) => ({ node, destinationCIDR })),
  );
  const wantedKeys = new Set(wanted.map(({ node, destinationCIDR }) => key(node.metadata.name ?? '', destinationCIDR)));
  const present = new Set(routes.map(({ targetNode, destinationCIDR }) => key(targetNode, destinationCIDR)));
  const isOurs = ({ destinationCIDR }: Route) => {
    const block = parseCIDR(destinationCIDR);
    return block !== undefined && clusterRanges.some((range) => blockHolds(range, block));
  };
  return {
    creates: wanted.filter(({ node, destinationCIDR }) => !present.has(key(node.metadata.name ?? '', destinationCIDR))),
    deletes: routes.filter(
      (route) =>
        isOurs(route) && (route.blackhole === true || !wantedKeys.has(key(route.targetNode, route.destinationCIDR))),
    ),
  };
}

/** What the node is to say of its network; undefined when it says so already. */
export function networkCondition({ status }: Node, isRouted: boolean, now: number): NodeCondition | undefined {
  const wanted = isRouted ? 'False' : 'True';
  if (getNodeCondition(status, 'NetworkUnavailable')?.status === wanted) return undefined;
  const time = formatTime(now);
  return {
    type: 'NetworkUnavailable',
    status: wanted,
    reason: isRouted ? 'RouteCreated' : 'NoRouteCreated',
    message: isRouted ? 'RouteController created a route' : 'RouteController failed to create a route',
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  };
}

/** Which services want a load balancer, and which nodes take its traffic; as in 1.24. Pure. */
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Cluster autoscalers add it to nodes that they are about to delete. */
const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler';

/** False for other service types and for services with a load balancer class. */
export function wantsLoadBalancer({ spec }: Service): boolean {
  return spec.type === 'LoadBalancer' && spec.loadBalancerClass === undefined;
}

/** Whether the node is ready, not excluded by its label, and not about to be deleted. */
export function takesBalancedTraffic(dialect: Dialect, { metadata, spec, status }: Node): boolean {
  if (metadata.labels?.[dialect.labels.excludeBalancers] !== undefined) return false;
  if (spec.taints?.some(({ key }) => key === toBeDeletedTaint)) return false;
  // A node without conditions has never reported its status.
  if ((status?.conditions ?? []).length === 0) return false;
  return (getNodeCondition(status, 'Ready')?.status ?? 'True') === 'True';
}

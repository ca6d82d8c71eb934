/** Which services want a load balancer, and which nodes take its traffic; as in 1.24. Pure. */
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import type { Node, Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Put on nodes by autoscalers that are about to delete them. */
const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler';

/** False for services of other types, and for those of another load balancer. */
export function wantsLoadBalancer({ spec }: Service): boolean {
  return spec.type === 'LoadBalancer' && spec.loadBalancerClass === undefined;
}

/** Neither excluded by its label, nor about to be deleted, nor unready. */
export function takesBalancedTraffic(dialect: Dialect, { metadata, spec, status }: Node): boolean {
  if (metadata.labels?.[dialect.labels.excludeBalancers] !== undefined) return false;
  if (spec.taints?.some(({ key }) => key === toBeDeletedTaint)) return false;
  // One that has never told of itself is not known to work.
  if ((status?.conditions ?? []).length === 0) return false;
  return (getNodeCondition(status, 'Ready')?.status ?? 'True') === 'True';
}

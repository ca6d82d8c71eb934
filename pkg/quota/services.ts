/** What services use of quotas. */

import type { Service } from '#api/core/v1/types.gen.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';

const objectCount = 'count/services';
const countedNames = new Set([objectCount, 'services', 'services.nodeports', 'services.loadbalancers']);

export const serviceEvaluator: QuotaEvaluator = {
  scoped: false,
  counts: (name) => countedNames.has(name),
  usage: (object) => {
    const service = object as Service;
    return {
      [objectCount]: '1',
      services: '1',
      'services.nodeports': String(nodePortsOf(service)),
      'services.loadbalancers': service.spec?.type === 'LoadBalancer' ? '1' : '0',
    };
  },
  isWithin: () => false,
  missing: () => undefined,
  mayUseMore: () => true,
};

/** Ports that are allocated, or will be: it counts what is wanted. */
function nodePortsOf({ spec }: Service): number {
  const ports = spec?.ports ?? [];
  if (spec?.type === 'NodePort') return ports.length;
  if (spec?.type !== 'LoadBalancer') return 0;
  if (spec.allocateLoadBalancerNodePorts !== false) return ports.length;
  return ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
}

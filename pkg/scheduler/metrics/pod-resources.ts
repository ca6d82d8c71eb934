/**
 * `/metrics/resources`: what each pod requests and may use at most, as the scheduler counts it; names, labels and units
 * are those of 1.24 (KEP 1748). Pure.
 */
import { podLimits, podRequests } from '#api/core/v1/pod/resources.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { parseQuantity, QuantityError } from '#apimachinery/quantity.js';
import type { Family, Sample } from '#daemon/metrics/exposition.js';

const explanation =
  'broken down by pod. This shows the resource usage the scheduler and NODEAGENT expect per pod for resources along with the unit for the resource if any.';

/** Pods that have ended are left out. */
export function podResourceFamilies(pods: readonly Pod[], { shortName, components }: Dialect): Family[] {
  const counted = pods.filter((pod) => !hasEnded(pod));
  const text = explanation.replace('NODEAGENT', components.nodeAgent);
  const family = (name: string, help: string, listOf: typeof podRequests): Family => ({
    name: `${shortName}_pod_resource_${name}`,
    help: `[ALPHA] ${help}, ${text}`,
    type: 'gauge',
    samples: counted.flatMap((pod) => samplesOf(pod, listOf)),
  });
  return [
    family('limit', 'Resources limit for workloads on the cluster', podLimits),
    family('request', 'Resources requested by workloads on the cluster', podRequests),
  ];
}

function hasEnded({ spec, status }: Pod): boolean {
  const isBound = (spec.nodeName ?? '') !== '';
  return isBound && (status?.phase === 'Succeeded' || status?.phase === 'Failed');
}

function samplesOf(pod: Pod, listOf: typeof podRequests): Sample[] {
  const { metadata, spec } = pod;
  return amounts(pod, listOf).flatMap(([resource, amount]) => {
    if (amount === 0) return [];
    const labels = {
      namespace: metadata.namespace ?? '',
      pod: metadata.name ?? '',
      node: spec.nodeName ?? '',
      scheduler: spec.schedulerName ?? '',
      priority: spec.priority === undefined ? '' : String(spec.priority),
      resource,
      unit: unitOf(resource),
    };
    return [{ labels, value: amount }];
  });
}

/** Empty for a pod whose quantities an older server did not check. */
function amounts(pod: Pod, listOf: typeof podRequests): (readonly [resource: string, amount: number])[] {
  try {
    const quantities = Object.entries(listOf(pod));
    return quantities.map(([resource, quantity]) => [resource, Number(parseQuantity(quantity).nanos) / 1e9] as const);
  } catch (error) {
    if (error instanceof QuantityError) return [];
    throw error;
  }
}

function unitOf(resource: string): string {
  if (resource === 'cpu') return 'cores';
  if (['memory', 'storage', 'ephemeral-storage'].includes(resource) || resource.startsWith('hugepages-'))
    return 'bytes';
  return resource.startsWith('attachable-volumes-') ? 'integer' : '';
}

/**
 * Requests and limits of pods. Init containers run one after another before all others, so only the largest counts, and
 * only if it exceeds the sum of the others; overhead is added.
 */
import type { Container, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { addQuantities, compareQuantities, parseQuantity } from '#apimachinery/quantity.js';

/** Quantity by resource name. */
export type ResourceList = Record<string, string>;

/** Resources that determine the quality of service. */
const qosResources = ['cpu', 'memory'] as const;

/** Requests of the whole pod, including overhead. Throws a QuantityError for an invalid quantity. */
export function podRequests(pod: { readonly spec: PodSpec }): ResourceList {
  const total = combine(pod.spec, (container) => container.resources?.requests);
  for (const [name, quantity] of Object.entries(pod.spec.overhead ?? {})) addTo(total, name, quantity);
  return total;
}

/** Limits of the whole pod. Overhead is added only to limited resources. Throws a QuantityError. */
export function podLimits(pod: { readonly spec: PodSpec }): ResourceList {
  const total = combine(pod.spec, (container) => container.resources?.limits);
  for (const [name, quantity] of Object.entries(pod.spec.overhead ?? {})) {
    if (total[name] !== undefined) addTo(total, name, quantity);
  }
  return total;
}

function combine(spec: PodSpec, pick: (container: Container) => ResourceList | undefined): ResourceList {
  const total: ResourceList = {};
  for (const container of spec.containers ?? []) {
    for (const [name, quantity] of Object.entries(pick(container) ?? {})) addTo(total, name, quantity);
  }
  for (const container of spec.initContainers ?? []) {
    for (const [name, quantity] of Object.entries(pick(container) ?? {})) {
      const sum = total[name];
      if (sum === undefined || compareQuantities(quantity, sum) > 0) total[name] = quantity;
    }
  }
  return total;
}

function addTo(total: ResourceList, name: string, quantity: string): void {
  const sum = total[name];
  total[name] = sum === undefined ? quantity : addQuantities(sum, quantity);
}

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/**
 * The quality of service from requests and limits of CPU and memory: Guaranteed if every container has both limits with
 * equal requests, BestEffort if there are none. Throws a QuantityError.
 */
export function computeQosClass(spec: PodSpec): QosClass {
  const requests = { cpu: 0n, memory: 0n };
  const limits = { cpu: 0n, memory: 0n };
  let allLimited = true;
  for (const list of ['containers', 'initContainers'] as const) {
    for (const { resources } of spec[list] ?? []) {
      for (const name of qosResources) {
        requests[name] += positiveNanos(resources?.requests?.[name]);
        const limit = positiveNanos(resources?.limits?.[name]);
        limits[name] += limit;
        if (limit === 0n) allLimited = false;
      }
    }
  }
  const { cpu, memory } = requests;
  if (cpu === 0n && memory === 0n && limits.cpu === 0n && limits.memory === 0n) return 'BestEffort';
  return allLimited && cpu === limits.cpu && memory === limits.memory ? 'Guaranteed' : 'Burstable';
}

/** Zero for absent and negative quantities, which are ignored. */
function positiveNanos(quantity: string | undefined): bigint {
  const nanos = quantity === undefined ? 0n : parseQuantity(quantity).nanos;
  return nanos > 0n ? nanos : 0n;
}

/** The quality of service in the pod's status, which is set on creation, or else computed. */
export function podQosClass(pod: Pod): QosClass {
  const qosClass = pod.status?.qosClass;
  if (qosClass === 'Guaranteed' || qosClass === 'Burstable' || qosClass === 'BestEffort') return qosClass;
  return computeQosClass(pod.spec);
}

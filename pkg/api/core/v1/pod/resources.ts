/**
 * What a pod asks for and may use. Init containers run one after the other before the others start, so of them only
 * the largest counts, and only where it exceeds the sum of the others; overhead comes on top.
 */
import type { Container, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { addQuantities, compareQuantities, parseQuantity } from '#apimachinery/quantity.js';

/** Quantity by resource name. */
export type ResourceList = Record<string, string>;

/** Resources that decide the quality of service. */
const qosResources = ['cpu', 'memory'] as const;

/** Sum of the requests of the whole pod, overhead included. Throws a QuantityError for a text that is no quantity. */
export function podRequests(pod: { readonly spec: PodSpec }): ResourceList {
  const total = combine(pod.spec, (container) => container.resources?.requests);
  for (const [name, quantity] of Object.entries(pod.spec.overhead ?? {})) addTo(total, name, quantity);
  return total;
}

/** Sum of the limits of the whole pod. Overhead counts only where something is limited. Throws a QuantityError. */
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
 * The quality of service that the pod's requests and limits of CPU and memory give it: Guaranteed when every container
 * has limits for both and requests equal to them, BestEffort when there are none at all. Throws a QuantityError.
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

/** Zero for what is negative or not there: such amounts decide nothing. */
function positiveNanos(quantity: string | undefined): bigint {
  const nanos = quantity === undefined ? 0n : parseQuantity(quantity).nanos;
  return nanos > 0n ? nanos : 0n;
}

/** The quality of service in the pod's status, which is fixed when the pod is created, else as computed. */
export function podQosClass(pod: Pod): QosClass {
  const known = pod.status?.qosClass;
  if (known === 'Guaranteed' || known === 'Burstable' || known === 'BestEffort') return known;
  return computeQosClass(pod.spec);
}

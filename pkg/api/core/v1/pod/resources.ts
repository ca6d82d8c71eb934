/**
 * What a pod asks for and may use. Init containers run one after the other before the others start, so of them only
 * the largest counts, and only where it exceeds the sum of the others; overhead comes on top.
 */
import type { Container, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { addQuantities, compareQuantities, quantitySign } from '#apimachinery/quantity.js';

/** Quantity by resource name. */
export type ResourceList = Record<string, string>;

/** Resources that decide the quality of service. */
const qosResources = ['cpu', 'memory'];

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
  const requests: ResourceList = {};
  const limits: ResourceList = {};
  let guaranteed = true;
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    for (const name of positive(container.resources?.requests)) {
      addTo(requests, name, container.resources?.requests?.[name] ?? '0');
    }
    const limited = positive(container.resources?.limits);
    for (const name of limited) addTo(limits, name, container.resources?.limits?.[name] ?? '0');
    if (limited.length !== qosResources.length) guaranteed = false;
  }
  const requested = Object.entries(requests);
  if (requested.length === 0 && Object.keys(limits).length === 0) return 'BestEffort';
  const equal = requested.every(([name, quantity]) => {
    const limit = limits[name];
    return limit !== undefined && compareQuantities(limit, quantity) === 0;
  });
  return guaranteed && equal && requested.length === Object.keys(limits).length ? 'Guaranteed' : 'Burstable';
}

function positive(list: ResourceList | undefined): string[] {
  return qosResources.filter((name) => list?.[name] !== undefined && quantitySign(list[name]) > 0);
}

/** The quality of service in the pod's status, which is fixed when the pod is created, else as computed. */
export function podQosClass(pod: Pod): QosClass {
  const known = pod.status?.qosClass;
  if (known === 'Guaranteed' || known === 'Burstable' || known === 'BestEffort') return known;
  return computeQosClass(pod.spec);
}

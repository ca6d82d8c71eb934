/** Resource amounts as plain numbers, so that the scheduling cycle adds and compares without parsing. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';

/** CPU in thousandths of a core, everything else in whole units (bytes, counts). */
export interface Resources {
  milliCpu: number;
  memory: number;
  ephemeralStorage: number;
  /** Extended resources and huge pages by name; undefined if there are none. */
  scalars: Map<string, number> | undefined;
}

export function emptyResources(): Resources {
  return { milliCpu: 0, memory: 0, ephemeralStorage: 0, scalars: undefined };
}

/** Parses a resource list; other names become scalars, `pods` is skipped. */
export function resourcesOf(list: Readonly<Record<string, string>> | undefined): Resources {
  const result = emptyResources();
  if (list === undefined) return result;
  for (const name in list) {
    const quantity = list[name];
    if (quantity === undefined) continue;
    switch (name) {
      case 'cpu':
        result.milliCpu = Number(milliValue(quantity));
        break;
      case 'memory':
        result.memory = Number(value(quantity));
        break;
      case 'ephemeral-storage':
        result.ephemeralStorage = Number(value(quantity));
        break;
      case 'pods':
        break;
      default:
        result.scalars ??= new Map();
        result.scalars.set(name, Number(value(quantity)));
    }
  }
  return result;
}

/** `to += sign * amount`. */
export function accumulate(to: Resources, amount: Resources, sign: 1 | -1): void {
  to.milliCpu += sign * amount.milliCpu;
  to.memory += sign * amount.memory;
  to.ephemeralStorage += sign * amount.ephemeralStorage;
  if (amount.scalars === undefined) return;
  to.scalars ??= new Map();
  for (const [name, n] of amount.scalars) to.scalars.set(name, (to.scalars.get(name) ?? 0) + sign * n);
}

function raiseTo(to: Resources, floor: Resources): void {
  to.milliCpu = Math.max(to.milliCpu, floor.milliCpu);
  to.memory = Math.max(to.memory, floor.memory);
  to.ephemeralStorage = Math.max(to.ephemeralStorage, floor.ephemeralStorage);
  if (floor.scalars === undefined) return;
  to.scalars ??= new Map();
  for (const [name, n] of floor.scalars) to.scalars.set(name, Math.max(to.scalars.get(name) ?? 0, n));
}

/**
 * A pod's requests: the sum of its containers, but at least the largest init container since those run one after the
 * other, plus the overhead of its runtime class.
 */
export function podRequests(pod: Pod): Resources {
  const total = emptyResources();
  for (const container of pod.spec.containers ?? []) accumulate(total, requestsOf(container), 1);
  for (const container of pod.spec.initContainers ?? []) raiseTo(total, requestsOf(container));
  if (pod.spec.overhead !== undefined) accumulate(total, resourcesOf(pod.spec.overhead), 1);
  return total;
}

/** Requests that scoring assumes for containers without requests, so that they spread too; as in release 1.24. */
const defaultMilliCpuRequest = 100;
const defaultMemoryRequest = 200 * 1024 * 1024;

/** CPU and memory requests, with the scoring defaults for absent ones. */
export function nonZeroRequests(pod: Pod): { milliCpu: number; memory: number } {
  const total = { milliCpu: 0, memory: 0 };
  for (const container of pod.spec.containers ?? []) {
    const one = nonZero(container);
    total.milliCpu += one.milliCpu;
    total.memory += one.memory;
  }
  for (const container of pod.spec.initContainers ?? []) {
    const one = nonZero(container);
    total.milliCpu = Math.max(total.milliCpu, one.milliCpu);
    total.memory = Math.max(total.memory, one.memory);
  }
  const overhead = resourcesOf(pod.spec.overhead);
  return { milliCpu: total.milliCpu + overhead.milliCpu, memory: total.memory + overhead.memory };
}

function requestsOf(container: Container): Resources {
  return resourcesOf(container.resources?.requests);
}

function nonZero(container: Container): { milliCpu: number; memory: number } {
  const requests = container.resources?.requests;
  const amounts = requestsOf(container);
  return {
    milliCpu: requests?.['cpu'] === undefined ? defaultMilliCpuRequest : amounts.milliCpu,
    memory: requests?.['memory'] === undefined ? defaultMemoryRequest : amounts.memory,
  };
}

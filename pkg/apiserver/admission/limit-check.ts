/** Whether what is asked for stays within one item of a LimitRange. Pure. */
import type { LimitRangeItem } from '#api/core/v1/types.gen.js';
import { addQuantities, compareQuantities, parseQuantity } from '#apimachinery/quantity.js';

export interface Usage {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
}

/** One sentence per bound that is broken; empty when all hold. */
export function limitFailures(item: LimitRangeItem, usage: Usage): string[] {
  const failures: string[] = [];
  for (const [name, min] of Object.entries(item.min ?? {})) failures.push(...minimum(item.type, name, min, usage));
  for (const [name, max] of Object.entries(item.max ?? {})) failures.push(...maximum(item.type, name, max, usage));
  for (const [name, ratio] of Object.entries(item.maxLimitRequestRatio ?? {}))
    failures.push(...ratioWithin(item.type, name, ratio, usage));
  return failures;
}

function minimum(type: string, name: string, min: string, { requests, limits }: Usage): string[] {
  const [request, limit] = [requests[name], limits[name]];
  const words = `minimum ${name} usage per ${type} is ${min}`;
  if (request === undefined) return [`${words}.  No request is specified`];
  if (compareQuantities(request, min) < 0) return [`${words}, but request is ${request}`];
  if (limit !== undefined && compareQuantities(limit, min) < 0) return [`${words}, but limit is ${limit}`];
  return [];
}

function maximum(type: string, name: string, max: string, { requests, limits }: Usage): string[] {
  const [request, limit] = [requests[name], limits[name]];
  const words = `maximum ${name} usage per ${type} is ${max}`;
  if (type === 'PersistentVolumeClaim') {
    if (request === undefined) return [`${words}.  No request is specified`];
    return compareQuantities(request, max) > 0 ? [`${words}, but request is ${request}`] : [];
  }
  if (limit === undefined) return [`${words}.  No limit is specified`];
  if (compareQuantities(limit, max) > 0) return [`${words}, but limit is ${limit}`];
  if (request !== undefined && compareQuantities(request, max) > 0) return [`${words}, but request is ${request}`];
  return [];
}

function ratioWithin(type: string, name: string, ratio: string, { requests, limits }: Usage): string[] {
  const [request, limit] = [requests[name], limits[name]];
  const words = `${name} max limit to request ratio per ${type} is ${ratio}`;
  const amount = (text: string | undefined) => (text === undefined ? 0n : parseQuantity(text).nanos);
  if (amount(request) === 0n) return [`${words}, but no request is specified or request is 0`];
  if (amount(limit) === 0n) return [`${words}, but no limit is specified or limit is 0`];
  const actual = Number(amount(limit)) / Number(amount(request));
  const allowed = Number(amount(ratio)) / 1e9;
  return actual > allowed ? [`${words}, but provided ratio is ${actual.toFixed(6)}`] : [];
}

/** What a whole pod uses: all containers together, or the largest init container where that is more. */
export function sumResources(containers: readonly Usage[], initContainers: readonly Usage[]): Usage {
  const total = (kind: keyof Usage) => {
    const sum: Record<string, string> = {};
    for (const usage of containers)
      for (const [name, amount] of Object.entries(usage[kind])) {
        const before = sum[name];
        sum[name] = before === undefined ? amount : addQuantities(before, amount);
      }
    for (const usage of initContainers)
      for (const [name, amount] of Object.entries(usage[kind])) {
        const before = sum[name];
        if (before === undefined || compareQuantities(amount, before) > 0) sum[name] = amount;
      }
    return sum;
  };
  return { requests: total('requests'), limits: total('limits') };
}

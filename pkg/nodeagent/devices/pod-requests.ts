/** How many devices containers and pods request. Pure. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { value } from '#apimachinery/quantity.js';

/** By resource. Requests of extended resources equal their limits. */
export function deviceLimits({ resources }: Container, isDevice: (resource: string) => boolean): Map<string, number> {
  const limits = Object.entries(resources?.limits ?? {}).filter(([resource]) => isDevice(resource));
  return new Map(limits.map(([resource, quantity]) => [resource, value(quantity)]));
}

/** What a pod needs at the same time: all containers together, or the init container that needs most. */
export function podDeviceLimits(
  { spec: { initContainers = [], containers } }: Pod,
  isDevice: (resource: string) => boolean,
): Map<string, number> {
  const limits = new Map<string, number>();
  for (const container of containers)
    for (const [resource, count] of deviceLimits(container, isDevice))
      limits.set(resource, (limits.get(resource) ?? 0) + count);
  for (const container of initContainers)
    for (const [resource, count] of deviceLimits(container, isDevice))
      limits.set(resource, Math.max(limits.get(resource) ?? 0, count));
  return limits;
}

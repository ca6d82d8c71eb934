/** Resources of a node that others advertise in its status, as release 1.24 treats them. Pure. */
import { isExtendedResource } from '#api/core/v1/resources/names.js';
import type { NodeStatus } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Resources } from '#nodeagent/node/status.js';

/**
 * The agent's own resources and all others of the capacity, which are allocatable as a whole: writing `status.capacity` is
 * the documented way to advertise an extended resource. One that has left the capacity is allocatable no longer.
 */
export function withOtherResources(own: Resources, old: NodeStatus | undefined, dialect: Dialect): Resources {
  const capacity = { ...old?.capacity, ...own.capacity };
  const kept = Object.entries(old?.allocatable ?? {}).filter(
    ([name]) => Object.hasOwn(capacity, name) || !isExtendedResource(name, dialect),
  );
  return { capacity, allocatable: { ...Object.fromEntries(kept), ...capacity, ...own.allocatable } };
}

/** A merge patch of a list of resources: what another client writes at the same time into its other members stays. */
export function resourcesPatch(
  old: Readonly<Record<string, string>> | undefined,
  fresh: Readonly<Record<string, string>> | undefined,
): Record<string, string | null> {
  const changed = Object.entries(fresh ?? {}).filter(([name, amount]) => old?.[name] !== amount);
  const gone = Object.keys(old ?? {}).filter((name) => fresh?.[name] === undefined);
  return { ...Object.fromEntries(changed), ...Object.fromEntries(gone.map((name) => [name, null])) };
}

/** What may be used only where a quota covers it, as the operator has configured it. */
import type { ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.js';
import type { LimitedByDefault } from '#apiserver/admission/quota-check.js';

export interface LimitedResource {
  /** Name of the group; empty for core. */
  readonly apiGroup: string;
  readonly resource: string;
  /** Parts of the names under which quotas count the resource. */
  readonly matchContains: readonly string[];
  readonly matchScopes: readonly ScopedResourceSelectorRequirement[];
}

/** The part that concerns one resource. Scopes are looked at whichever resource they were configured for, as in 1.24. */
export function limitedByDefault(
  limited: readonly LimitedResource[],
  group: string,
  resource: string,
): LimitedByDefault {
  const concerned = limited.filter((each) => each.apiGroup === group && each.resource === resource);
  return {
    names: concerned.flatMap(({ matchContains }) => matchContains),
    scopes: limited.flatMap(({ matchScopes }) => matchScopes),
  };
}

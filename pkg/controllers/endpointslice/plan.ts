/**
 * Distributes endpoints over slices with as few writes as possible: what is in a slice stays in it, what is new fills
 * slices that are written anyway, then the fullest with room for all of it, and only then new ones. Pure.
 */
import type { Endpoint, EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { type EndpointGroup, endpointId, groupId } from '#controllers/endpointslice/desired.js';

export interface SlicePlan {
  readonly creates: readonly EndpointSlice[];
  readonly updates: readonly EndpointSlice[];
  readonly deletes: readonly EndpointSlice[];
}

export interface SliceObservation {
  readonly groups: ReadonlyMap<string, EndpointGroup>;
  /** The slices of the service that this controller manages. */
  readonly slices: readonly EndpointSlice[];
  /** A slice of the service without endpoints: name prefix, labels, annotations where they are its, and owner. */
  readonly blank: (group: Pick<EndpointGroup, 'addressType' | 'ports'>) => EndpointSlice;
  readonly maxEndpoints: number;
  /** Families that have a slice even when there is nothing to put in. */
  readonly addressTypes: readonly EndpointGroup['addressType'][];
}

interface Draft {
  readonly slice: EndpointSlice;
  endpoints: Endpoint[];
  changed: boolean;
}

export function planSlices(observed: SliceObservation): SlicePlan {
  const { groups, slices, blank, addressTypes } = observed;
  const byGroup = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    const id = groupId(slice.addressType, slice.ports);
    byGroup.set(id, [...(byGroup.get(id) ?? []), slice]);
  }
  const creates: EndpointSlice[] = [];
  const updates: EndpointSlice[] = [];
  let deletes: EndpointSlice[] = [];
  for (const [id, group] of groups) {
    const plan = planGroup(observed, group, byGroup.get(id) ?? []);
    creates.push(...plan.creates);
    updates.push(...plan.updates);
    deletes.push(...plan.deletes);
  }
  for (const [id, stale] of byGroup) if (!groups.has(id)) deletes.push(...stale);
  // Somebody may wait for the service to have a slice at all, so an empty one stands in.
  for (const addressType of addressTypes) {
    if ([...groups.values()].some((group) => group.addressType === addressType)) continue;
    const placeholder = deletes.find((slice) => slice.addressType === addressType && (slice.ports ?? []).length === 0);
    const wanted = blank({ addressType, ports: [] });
    if (placeholder === undefined) {
      creates.push(wanted);
      continue;
    }
    deletes = deletes.filter((slice) => slice !== placeholder);
    if (placeholder.endpoints?.length > 0 || !isDescribed(placeholder, wanted))
      updates.push(described(placeholder, wanted, []));
  }
  return { creates, updates, deletes };
}

function planGroup(
  { blank, maxEndpoints }: SliceObservation,
  group: EndpointGroup,
  slices: readonly EndpointSlice[],
): SlicePlan {
  const waiting = new Map(group.endpoints);
  const template = blank(group);
  const drafts = [...slices].sort(byName).map((slice) => keepWanted(slice, template, waiting));
  fill(drafts, [...waiting.values()], maxEndpoints);
  const left = drafts.reduce((list, draft) => takeAway(list, draft.endpoints), [...waiting.values()]);
  const creates: EndpointSlice[] = [];
  for (let start = 0; start < left.length; start += maxEndpoints) {
    creates.push({ ...template, endpoints: left.slice(start, start + maxEndpoints) });
  }
  return {
    creates,
    updates: drafts
      .filter((draft) => draft.changed && draft.endpoints.length > 0)
      .map((draft) => described(draft.slice, template, draft.endpoints)),
    deletes: drafts.filter((draft) => draft.endpoints.length === 0).map((draft) => draft.slice),
  };
}

/** The slice with those of its endpoints that are still wanted, in their present state; takes them from `waiting`. */
function keepWanted(slice: EndpointSlice, template: EndpointSlice, waiting: Map<string, Endpoint>): Draft {
  const endpoints: Endpoint[] = [];
  let changed = !isDescribed(slice, template);
  for (const old of slice.endpoints ?? []) {
    const id = endpointId(old);
    const wanted = waiting.get(id);
    if (wanted === undefined) {
      changed = true;
      continue;
    }
    waiting.delete(id);
    if (!semanticEqual(old, wanted)) changed = true;
    endpoints.push(wanted);
  }
  return { slice, endpoints, changed };
}

function fill(drafts: Draft[], endpoints: Endpoint[], maxEndpoints: number): void {
  const queue = [...endpoints];
  const room = (draft: Draft) => maxEndpoints - draft.endpoints.length;
  for (const draft of drafts.filter((each) => each.changed)) {
    draft.endpoints = [...draft.endpoints, ...queue.splice(0, room(draft))];
  }
  const rest = queue.length % maxEndpoints;
  if (rest === 0) return;
  // One more slice has to be written: rather one that is there, the fullest that can take the rest.
  const best = drafts
    .filter((draft) => !draft.changed && room(draft) >= rest)
    .sort((a, b) => room(a) - room(b))
    .at(0);
  if (best === undefined) return;
  best.endpoints = [...best.endpoints, ...queue.splice(0, rest)];
  best.changed = true;
}

function takeAway(list: Endpoint[], taken: readonly Endpoint[]): Endpoint[] {
  const set = new Set(taken);
  return list.filter((endpoint) => !set.has(endpoint));
}

function isDescribed(slice: EndpointSlice, template: EndpointSlice): boolean {
  return (
    semanticEqual(slice.metadata.labels ?? {}, template.metadata.labels ?? {}) &&
    (template.metadata.annotations === undefined ||
      semanticEqual(slice.metadata.annotations ?? {}, template.metadata.annotations)) &&
    semanticEqual(slice.metadata.ownerReferences, template.metadata.ownerReferences)
  );
}

function described(slice: EndpointSlice, template: EndpointSlice, endpoints: Endpoint[]): EndpointSlice {
  const { labels, annotations, ownerReferences } = template.metadata;
  return {
    ...slice,
    metadata: {
      ...slice.metadata,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    endpoints,
  };
}

function byName(a: EndpointSlice, b: EndpointSlice): number {
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}

/**
 * Distributes endpoints over slices with few writes. Existing endpoints stay in their slice. New endpoints fill slices
 * that change anyway, then the fullest slice with enough room, then new slices. Pure.
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
  /** Returns an empty slice with the service's name prefix, labels, owner and perhaps annotations. */
  readonly blank: (group: Pick<EndpointGroup, 'addressType' | 'ports'>) => EndpointSlice;
  readonly maxEndpoints: number;
  /** Families that need a slice even without endpoints. */
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
  // Clients may wait for the service's first slice, so create an empty placeholder.
  for (const addressType of addressTypes) {
    if ([...groups.values()].some((group) => group.addressType === addressType)) continue;
    const placeholder = deletes.find((slice) => slice.addressType === addressType && (slice.ports ?? []).length === 0);
    const empty = blank({ addressType, ports: [] });
    if (placeholder === undefined) {
      creates.push(empty);
      continue;
    }
    deletes = deletes.filter((slice) => slice !== placeholder);
    if (placeholder.endpoints?.length > 0 || !hasMetadata(placeholder, empty))
      updates.push(withTemplate(placeholder, empty, []));
  }
  return { creates, updates, deletes };
}

function planGroup(
  { blank, maxEndpoints }: SliceObservation,
  group: EndpointGroup,
  slices: readonly EndpointSlice[],
): SlicePlan {
  const pending = new Map(group.endpoints);
  const template = blank(group);
  const drafts = [...slices].sort(byName).map((slice) => draftSlice(slice, template, pending));
  fill(drafts, [...pending.values()], maxEndpoints);
  const left = drafts.reduce((list, draft) => without(list, draft.endpoints), [...pending.values()]);
  const creates: EndpointSlice[] = [];
  for (let start = 0; start < left.length; start += maxEndpoints) {
    creates.push({ ...template, endpoints: left.slice(start, start + maxEndpoints) });
  }
  return {
    creates,
    updates: drafts
      .filter((draft) => draft.changed && draft.endpoints.length > 0)
      .map((draft) => withTemplate(draft.slice, template, draft.endpoints)),
    deletes: drafts.filter((draft) => draft.endpoints.length === 0).map((draft) => draft.slice),
  };
}

/** Updates the slice's endpoints from `pending`, and removes them there. */
function draftSlice(slice: EndpointSlice, template: EndpointSlice, pending: Map<string, Endpoint>): Draft {
  const endpoints: Endpoint[] = [];
  let changed = !hasMetadata(slice, template);
  for (const old of slice.endpoints ?? []) {
    const id = endpointId(old);
    const endpoint = pending.get(id);
    if (endpoint === undefined) {
      changed = true;
      continue;
    }
    pending.delete(id);
    if (!semanticEqual(old, endpoint)) changed = true;
    endpoints.push(endpoint);
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
  // Prefer the fullest existing slice with room for the rest to a new slice.
  const best = drafts
    .filter((draft) => !draft.changed && room(draft) >= rest)
    .sort((a, b) => room(a) - room(b))
    .at(0);
  if (best === undefined) return;
  best.endpoints = [...best.endpoints, ...queue.splice(0, rest)];
  best.changed = true;
}

function without(list: Endpoint[], removed: readonly Endpoint[]): Endpoint[] {
  const set = new Set(removed);
  return list.filter((endpoint) => !set.has(endpoint));
}

function hasMetadata(slice: EndpointSlice, template: EndpointSlice): boolean {
  return (
    semanticEqual(slice.metadata.labels ?? {}, template.metadata.labels ?? {}) &&
    (template.metadata.annotations === undefined ||
      semanticEqual(slice.metadata.annotations ?? {}, template.metadata.annotations)) &&
    semanticEqual(slice.metadata.ownerReferences, template.metadata.ownerReferences)
  );
}

function withTemplate(slice: EndpointSlice, template: EndpointSlice, endpoints: Endpoint[]): EndpointSlice {
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

/** Label and field selectors of a request as one test of entries. */
import type { ApiObjectShape } from '#api/object.js';
import { badRequest } from '#apimachinery/errors/status.js';
import {
  everyField,
  type FieldSelector,
  type FieldValues,
  parseFieldSelector,
} from '#apimachinery/selectors/fields.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import { objectOf, type ServedResource } from '#apiserver/registry/served-resource.js';
import type { Entry, Only } from '#storage/resource-storage.js';

/** What selectors look at, kept with each entry so that matching parses nothing. */
interface Selectable {
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: FieldValues;
}

/**
 * Undefined when everything is selected. `name` is that of the request, for watches of one object. Throws 400 for
 * selectors that are malformed or name fields that the kind does not offer.
 */
export function selection(
  resource: ServedResource,
  query: URLSearchParams,
  name: string,
): ((entry: Entry) => boolean) | undefined {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fieldText = query.get('fieldSelector') ?? '';
  const fields = fieldText === '' ? everyField : parseFieldSelector(fieldText);
  requireSelectable(resource, fields);
  const named = fields.isEverything && name !== '';
  if (labels.isEverything && fields.isEverything && !named) return undefined;
  return (entry) => {
    const selectable = selectableOf(resource, entry);
    if (named && selectable.fields['metadata.name'] !== name) return false;
    return labels.matches(selectable.labels) && fields.matches(selectable.fields);
  };
}

/**
 * A field of which the selection wants one value only, for finding watches by it: that of the name, else another one. The
 * query is one that `selection` takes.
 */
export function onlyField(resource: ServedResource, query: URLSearchParams, name: string): Only | undefined {
  // Each version would read the fields of its own form anew.
  if (resource.conversion !== undefined) return undefined;
  const fieldText = query.get('fieldSelector') ?? '';
  const fields = fieldText === '' ? everyField : parseFieldSelector(fieldText);
  const exact = fields.terms.filter(({ operator, value }) => operator === '=' && value !== '');
  const term = exact.find(({ field }) => field === 'metadata.name') ?? exact[0];
  const named = fields.isEverything && name !== '' ? { field: 'metadata.name', value: name } : undefined;
  const { field, value } = named ?? term ?? {};
  if (field === undefined || value === undefined) return undefined;
  return { field, value, read: (entry) => selectableOf(resource, entry).fields[field] ?? '' };
}

/** Fields by which every object can be selected; in a resource without namespaces all have the empty one. */
const commonFields: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace']);

/** Throws 400 for fields that the kind does not offer. */
function requireSelectable(resource: ServedResource, fields: FieldSelector): void {
  if (resource.strategy.selectableFields !== undefined) {
    const offered = selectableFields(resource);
    fields.requireFields((field) => offered.has(field) || commonFields.has(field));
    return;
  }
  const other = fields.terms.find(({ field }) => !commonFields.has(field));
  if (other === undefined) return;
  const known = [...commonFields].map((field) => JSON.stringify(field)).join(', ');
  throw badRequest(`${JSON.stringify(other.field)} is not a known field selector: only ${known}`);
}

/** Field names that the kind offers: those that an empty object has. */
function selectableFields(resource: ServedResource): ReadonlySet<string> {
  const empty = { metadata: {}, spec: {}, status: {} } as ApiObjectShape;
  return new Set(Object.keys(fieldsOf(resource, empty)));
}

function fieldsOf(resource: ServedResource, object: ApiObjectShape): FieldValues {
  return {
    'metadata.name': object.metadata.name ?? '',
    ...(resource.declaration.namespaced ? { 'metadata.namespace': object.metadata.namespace ?? '' } : {}),
    ...resource.strategy.selectableFields?.(object),
  };
}

function selectableOf(resource: ServedResource, entry: Entry): Selectable {
  // Versions that convert see other fields in the same entry, so only the stored version's are kept with it.
  if (resource.conversion !== undefined) return extract(resource, objectOf(resource, entry));
  return entry.attributes(() => extract(resource, objectOf(resource, entry)));
}

function extract(resource: ServedResource, object: ApiObjectShape): Selectable {
  return { labels: object.metadata.labels ?? {}, fields: fieldsOf(resource, object) };
}

/** Label and field selectors of a request as one test of entries. */
import type { ApiObjectShape } from '#api/meta/object.js';
import { badRequest, StatusError } from '#apimachinery/errors/status.js';
import { FieldSelector, type FieldValues } from '#apimachinery/selectors/fields.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry, Only } from '#storage/resource-storage.js';

/** What selectors look at, kept with each entry so that matching parses nothing. */
interface Selectable {
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: FieldValues;
}

type Selecting = Pick<RequestInfo, 'query' | 'name' | 'fields'>;

/**
 * Undefined when everything is selected. Throws 400 for selectors that are malformed, name fields that the kind does not
 * offer, or would select others than the one object that the request was authorized for.
 */
export function selection(resource: ServedResource, info: Selecting): ((entry: Entry) => boolean) | undefined {
  const { query, name } = info;
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = fieldsFor(resource, info);
  requireSelectable(resource, fields);
  const anyLabels = labels.isEverything;
  const soleName = soleNameOf(fields, name);
  if (anyLabels && soleName !== undefined) return (entry) => nameOf(entry) === soleName;
  const anyFields = fields.isEverything;
  if (anyLabels && anyFields) return undefined;
  return (entry) => {
    if (soleName !== undefined && nameOf(entry) !== soleName) return false;
    const selectable = selectableOf(resource, entry);
    return (anyLabels || labels.matches(selectable.labels)) && (anyFields || fields.matches(selectable.fields));
  };
}

/** The name that the request selects, where it selects by nothing else but labels. */
function soleNameOf({ terms: [term, second] }: FieldSelector, name: string): string | undefined {
  if (term === undefined) return name === '' ? undefined : name;
  const isName = second === undefined && term.field === 'metadata.name' && term.operator === '=';
  return isName ? term.value : undefined;
}

/** The last segment of the key, so that a selector by name parses no object. */
function nameOf({ key }: Entry): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** Selections of one resource with the same name select the same. */
export function selectionName({ apiVersion, edition }: ServedResource, { query, name }: Selecting): string {
  return JSON.stringify([
    apiVersion,
    edition,
    name,
    query.get('labelSelector') ?? '',
    query.get('fieldSelector') ?? '',
  ]);
}

/** A selector beside a name has to select that name, as in 1.24: whoever may see one object sees no other. */
function fieldsFor(resource: ServedResource, { fields, name }: Selecting): FieldSelector {
  if (fields instanceof StatusError) throw fields;
  if (name !== '' && !fields.isEverything && fields.exactValue('metadata.name') !== name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  return storedFields(resource, fields);
}

/**
 * A field of which the selection wants one value only, for finding watches by it: that of the name, else another one. The
 * request is one that `selection` takes.
 */
export function onlyField(resource: ServedResource, info: Selecting): Only | undefined {
  const fields = fieldsFor(resource, info);
  const name = fields.isEverything ? info.name : fields.exactValue('metadata.name');
  if (name) return { field: 'metadata.name', value: name, read: nameOf };
  const term = fields.terms.find(({ operator, value }) => operator === '=' && value !== '');
  if (term === undefined) return undefined;
  const { field, value } = term;
  return { field, value, read: (entry) => selectableOf(resource, entry).fields[field] ?? '' };
}

/** Fields by which every object can be selected; in a resource without namespaces all have the empty one. */
const commonFields: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace']);

/** The same of custom objects without a namespace. */
const clusterFields: ReadonlySet<string> = new Set(['metadata.name']);

/** The selector by the names of the stored form. Throws 400 for fields that this version does not offer. */
function storedFields(
  { strategy: { fieldLabels, fieldRefusal } }: ServedResource,
  fields: FieldSelector,
): FieldSelector {
  if (fieldLabels === undefined) return fields;
  const labels = new Map(Object.entries(fieldLabels));
  fields.requireFields((field) => labels.has(field) || commonFields.has(field), fieldRefusal);
  return new FieldSelector(fields.terms.map((term) => ({ ...term, field: labels.get(term.field) ?? term.field })));
}

/** Throws 400 for fields that the kind does not offer. */
function requireSelectable(resource: ServedResource, fields: FieldSelector): void {
  if (resource.stored.strategy.selectableFields !== undefined) {
    const offered = selectableFields(resource);
    const { fieldRefusal } = resource.strategy;
    fields.requireFields((field) => offered.has(field), fieldRefusal);
    return;
  }
  const isApart = resource.edition !== undefined && !resource.declaration.namespaced;
  const offered = isApart ? clusterFields : commonFields;
  const other = fields.terms.find(({ field }) => !offered.has(field));
  if (other === undefined) return;
  if (resource.edition !== undefined) throw badRequest(`field label not supported: ${other.field}`);
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
    ...resource.stored.strategy.selectableFields?.(object),
  };
}

function selectableOf(resource: ServedResource, entry: Entry): Selectable {
  // All versions look at the stored form, so that what is kept with the entry serves them all.
  return entry.attributes((same) => extract(resource, same.outline() as ApiObjectShape));
}

function extract(resource: ServedResource, object: ApiObjectShape): Selectable {
  return { labels: object.metadata.labels ?? {}, fields: fieldsOf(resource, object) };
}

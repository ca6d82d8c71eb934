/** A request's label and field selectors as a predicate over entries. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Turns } from '#apimachinery/async/turn-queue.js';
import { badRequest, StatusError } from '#apimachinery/errors/status.js';
import { FieldSelector, type FieldValues } from '#apimachinery/selectors/fields.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry, Only } from '#storage/resource-storage.js';

/** The values that selectors read, cached with each entry so that matching parses no JSON. */
interface Selectable {
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: FieldValues;
}

type Selecting = Pick<RequestInfo, 'query' | 'name' | 'fields'>;

/**
 * Undefined if everything matches. Throws 400 for malformed selectors, for fields that the kind does not offer, and for
 * selectors that leave the one object that the request was authorized for.
 */
export function selection(resource: ServedResource, info: Selecting): ((entry: Entry) => boolean) | undefined {
  const { query, name } = info;
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = fieldsFor(resource, info);
  requireSelectable(resource, fields);
  const anyLabels = labels.isEverything;
  const soleName = nameSelected(fields, name);
  if (anyLabels && soleName !== undefined) return (entry) => nameInKey(entry) === soleName;
  const anyFields = fields.isEverything;
  if (anyLabels && anyFields) return undefined;
  return (entry) => {
    if (soleName !== undefined && nameInKey(entry) !== soleName) return false;
    const selectable = selectableOf(resource, entry);
    return (anyLabels || labels.matches(selectable.labels)) && (anyFields || fields.matches(selectable.fields));
  };
}

/** The selected name, if the field selector selects only by name. */
function nameSelected({ terms: [term, second] }: FieldSelector, name: string): string | undefined {
  if (term === undefined) return name === '' ? undefined : name;
  const isName = second === undefined && term.field === 'metadata.name' && term.operator === '=';
  return isName ? term.value : undefined;
}

/** The key's last segment: a selector by name need not parse the object. */
function nameInKey({ key }: Entry): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** Equal for equal selections of one resource. */
export function selectionName({ apiVersion, edition }: ServedResource, { query, name }: Selecting): string {
  return JSON.stringify([
    apiVersion,
    edition,
    name,
    query.get('labelSelector') ?? '',
    query.get('fieldSelector') ?? '',
  ]);
}

/** A selector beside a name must select that name, as in 1.24: the right to see one object reveals no other. */
function fieldsFor(resource: ServedResource, { fields, name }: Selecting): FieldSelector {
  if (fields instanceof StatusError) throw fields;
  if (name !== '' && !fields.isEverything && fields.exactValue('metadata.name') !== name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  return storedFields(resource, fields);
}

/**
 * A field that must have one value for an entry to match, preferably the name, used to index watches. The request has passed
 * `selection`.
 */
export function onlyField(resource: ServedResource, info: Selecting): Only | undefined {
  const fields = fieldsFor(resource, info);
  const name = fields.isEverything ? info.name : fields.exactValue('metadata.name');
  if (name) return { field: 'metadata.name', value: name, read: nameInKey };
  const term = fields.terms.find(({ operator, value }) => operator === '=' && value !== '');
  if (term === undefined) return undefined;
  const { field, value } = term;
  return { field, value, read: (entry) => selectableOf(resource, entry).fields[field] ?? '' };
}

/** Fields by which every kind can be selected; the namespace is empty for cluster-scoped kinds. */
const commonFields: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace']);

/** The same for cluster-scoped custom kinds. */
const clusterFields: ReadonlySet<string> = new Set(['metadata.name']);

/** The selector with the stored form's field names. Throws 400 for fields that this version does not offer. */
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
  const isClusterCustom = resource.edition !== undefined && !resource.declaration.namespaced;
  const offered = isClusterCustom ? clusterFields : commonFields;
  const other = fields.terms.find(({ field }) => !offered.has(field));
  if (other === undefined) return;
  if (resource.edition !== undefined) throw badRequest(`field label not supported: ${other.field}`);
  const supported = [...commonFields].map((field) => JSON.stringify(field)).join(', ');
  throw badRequest(`${JSON.stringify(other.field)} is not a known field selector: only ${supported}`);
}

/** Field names of the kind: those that it reads from an empty object. */
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

/** Entries between checks for other waiting work. */
const slice = 256;

/** Reads what selectors compare of each object in the cache, which the first list with a selector would wait for. */
export async function prepareSelection(
  resource: ServedResource,
  turns: Pick<Turns, 'pause'>,
  signal: AbortSignal,
): Promise<void> {
  for (const [i, entry] of resource.storage.cachedIn('').entries()) {
    if (i % slice === slice - 1) await turns.pause();
    if (signal.aborted) return;
    selectableOf(resource, entry);
  }
}

function selectableOf(resource: ServedResource, entry: Entry): Selectable {
  // All versions read the stored form, so they share what is cached with the entry.
  return entry.attributes((same) => extract(resource, same.outline() as ApiObjectShape));
}

function extract(resource: ServedResource, object: ApiObjectShape): Selectable {
  return { labels: object.metadata.labels ?? {}, fields: fieldsOf(resource, object) };
}

/** An object as its user edits it, and the part of an edited object that a server-side apply has to send. Pure. */
import type { ApiObject } from '#dashboard/model/api-object.js';

/** The manager of fields that are set from a page. */
export const fieldManager = 'orch-dashboard';

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type JsonMap = Readonly<Record<string, Json>>;

/** What the server sets. */
const serverFields = ['managedFields', 'uid', 'resourceVersion', 'creationTimestamp', 'generation', 'selfLink'];
const mask = '••••••';

/** Without the fields that only the server sets. */
export function editableOf(object: ApiObject): JsonMap {
  const { metadata, status: _status, ...rest } = object as unknown as { metadata: JsonMap; status?: Json } & JsonMap;
  const kept = Object.entries(metadata).filter(([name]) => !serverFields.includes(name));
  const { apiVersion = '', kind = '', ...others } = rest;
  return { apiVersion, kind, metadata: Object.fromEntries(kept), ...others };
}

/** For display: without managed fields, which are as long as the rest. */
export function readableOf(object: ApiObject): JsonMap {
  const { metadata, ...rest } = object as unknown as { metadata: JsonMap } & JsonMap;
  const { managedFields: _managedFields, ...kept } = metadata;
  const { apiVersion = '', kind = '', ...others } = rest;
  return { apiVersion, kind, metadata: kept, ...others };
}

/** A Secret's values are hidden, and so are copies of them in annotations. */
export function masked(object: ApiObject): ApiObject {
  const { data, stringData, metadata } = object as ApiObject & {
    readonly data?: JsonMap;
    readonly stringData?: JsonMap;
  };
  const hide = (values: JsonMap) => Object.fromEntries(Object.keys(values).map((name) => [name, mask]));
  const annotations = Object.entries(metadata.annotations ?? {}).map(([name, value]) => [
    name,
    name.endsWith('last-applied-configuration') ? mask : value,
  ]);
  return {
    ...object,
    ...(data === undefined ? {} : { data: hide(data) }),
    ...(stringData === undefined ? {} : { stringData: hide(stringData) }),
    metadata: {
      ...metadata,
      ...(metadata.annotations === undefined
        ? {}
        : { annotations: Object.fromEntries(annotations) as Record<string, string> }),
    },
  } as ApiObject;
}

interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: JsonMap;
}

/**
 * What to apply so that the object becomes the edited one: the fields that differ and those that earlier edits own, with the
 * keys of the list elements around them. Everything else stays with its managers.
 */
export function applyPatch(before: ApiObject, edited: JsonMap): JsonMap {
  const managed = (before.metadata as { readonly managedFields?: readonly ManagedFields[] }).managedFields ?? [];
  const own = managed.find(({ manager, operation }) => manager === fieldManager && operation === 'Apply')?.fieldsV1;
  const all = managed.filter(({ subresource = '' }) => subresource === '').map(({ fieldsV1 = {} }) => fieldsV1);
  const changed = part(editableOf(before), edited, own, all);
  const { apiVersion = '', kind = '', metadata = {} } = edited as { readonly metadata?: JsonMap } & JsonMap;
  const { name = '', namespace } = metadata;
  const changedMap = isMap(changed) ? changed : {};
  const changedMetadata = isMap(changedMap['metadata']) ? changedMap['metadata'] : {};
  const identity = { name, ...(namespace === undefined ? {} : { namespace }) };
  return { ...changedMap, apiVersion, kind, metadata: { ...changedMetadata, ...identity } };
}

/** Undefined: nothing of the value has to be sent. */
function part(
  before: Json | undefined,
  edited: Json,
  own: JsonMap | undefined,
  all: readonly JsonMap[],
): Json | undefined {
  if (isMap(edited) && (before === undefined || isMap(before))) {
    const entries = Object.entries(edited).flatMap(([name, value]): [string, Json][] => {
      const inside = part(
        before?.[name],
        value,
        child(own, `f:${name}`),
        children(all, (set) => child(set, `f:${name}`)),
      );
      return inside === undefined ? [] : [[name, inside]];
    });
    if (entries.length > 0) return Object.fromEntries(entries);
    if (before === undefined || (own !== undefined && Object.keys(own).length === 0)) return edited;
    // An earlier edit made the map itself.
    return own !== undefined && '.' in own ? {} : undefined;
  }
  if (isList(edited) && isList(before)) return listPart(before, edited, own, all);
  return before === undefined || own !== undefined || !isSame(before, edited) ? edited : undefined;
}

function listPart(
  before: readonly Json[],
  edited: readonly Json[],
  own: JsonMap | undefined,
  all: readonly JsonMap[],
): Json | undefined {
  const keys = all.flatMap((set) => Object.keys(set)).find((name) => name.startsWith('k:'));
  if (keys === undefined) return own === undefined && isSame(before, edited) ? undefined : edited;
  const names = Object.keys(JSON.parse(keys.slice(2)) as JsonMap);
  const elements = edited.flatMap((element): Json[] => {
    if (!isMap(element)) return [element];
    const isElement = (other: Json) =>
      isMap(other) && names.every((name) => isSame(other[name] ?? null, element[name] ?? null));
    const place = (set: JsonMap | undefined) =>
      Object.entries(set ?? {}).find(
        ([name]) => name.startsWith('k:') && isElement(JSON.parse(name.slice(2)) as Json),
      )?.[1] as JsonMap | undefined;
    const inside = part(before.find(isElement), element, place(own), children(all, place));
    if (!isMap(inside ?? null)) return [];
    const identity = names.flatMap((name): [string, Json][] =>
      element[name] === undefined ? [] : [[name, element[name]]],
    );
    return [{ ...Object.fromEntries(identity), ...(inside as JsonMap) }];
  });
  return elements.length === 0 ? undefined : elements;
}

/** Fields of `before` that the edited object lacks, by their path: an apply removes those that only earlier edits own. */
export function removedFields(before: JsonMap, edited: JsonMap, path = ''): string[] {
  return Object.entries(before).flatMap(([name, value]) => {
    const place = path === '' ? name : `${path}.${name}`;
    const other = edited[name];
    if (other === undefined) return [place];
    return isMap(value) && isMap(other) ? removedFields(value, other, place) : [];
  });
}

function child(set: JsonMap | undefined, name: string): JsonMap | undefined {
  const value = set?.[name];
  return value !== undefined && isMap(value) ? value : undefined;
}

function children(sets: readonly JsonMap[], of: (set: JsonMap) => JsonMap | undefined): JsonMap[] {
  return sets.map(of).filter((set) => set !== undefined);
}

function isMap(value: Json | undefined): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isSame(a: Json, b: Json): boolean {
  if (isMap(a) && isMap(b)) {
    const names = Object.keys(a);
    return (
      names.length === Object.keys(b).length &&
      names.every((name) => name in b && isSame(a[name] ?? null, b[name] ?? null))
    );
  }
  if (isList(a) && isList(b)) return a.length === b.length && a.every((value, i) => isSame(value, b[i] ?? null));
  return a === b;
}

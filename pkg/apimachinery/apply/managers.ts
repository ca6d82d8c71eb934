/** The entries of metadata.managedFields: which manager owns which fields. */

import {
  difference,
  emptySet,
  type FieldSet,
  formOf,
  isEmptySet,
  setsEqual,
  sorted,
  union,
} from '#apimachinery/apply/field-set.js';
import { asObject, type JsonObject } from '#apimachinery/apply/structure.js';
import { formatTime } from '#apimachinery/clock.js';

/** metav1.ManagedFieldsEntry. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

export interface Manager {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339, undefined if unknown. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** Whether the fields are known to be in serialization order. */
  readonly inOrder: boolean;
  /** The entry that this manager was read from; undefined after a change. */
  readonly entry: ManagedFieldsEntry | undefined;
}

/** The identity of a manager. */
export type ManagerIdentity = Pick<Manager, 'name' | 'operation' | 'apiVersion' | 'subresource'>;

/** Whether two entries belong to the same manager. An applier has the same identity in all versions. */
export function sameManager(a: ManagerIdentity, b: ManagerIdentity): boolean {
  return (
    a.name === b.name &&
    a.operation === b.operation &&
    a.subresource === b.subresource &&
    (a.operation === 'Apply' || a.apiVersion === b.apiVersion)
  );
}

/** True for the empty list or a single empty entry: a client's request to drop all managers. */
export function isReset(entries: readonly ManagedFieldsEntry[] | undefined): boolean {
  return entries?.length === 0 || (entries?.length === 1 && Object.keys(entries[0] ?? {}).length === 0);
}

export function entriesOf(object: JsonObject | undefined): ManagedFieldsEntry[] | undefined {
  const entries = asObject(object?.metadata).managedFields;
  return Array.isArray(entries) ? (entries as ManagedFieldsEntry[]) : undefined;
}

/** The object without its managedFields. */
export function withoutEntries(object: JsonObject): JsonObject {
  const metadata = asObject(object.metadata);
  if (metadata.managedFields === undefined) return object;
  const { managedFields: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}

/** The reason why entries are invalid, in the words of 1.24; undefined if they are valid. */
export function entriesFault(entries: readonly ManagedFieldsEntry[] | undefined): string | undefined {
  for (const [i, { operation, apiVersion = '', fieldsType = '', fieldsV1 = {} }] of (entries ?? []).entries()) {
    if (operation !== 'Apply' && operation !== 'Update') return 'operation must be `Apply` or `Update`';
    if (apiVersion === '') return 'apiVersion must not be empty';
    if (fieldsType === '') return `missing fieldsType in managed fields entry ${i}`;
    if (fieldsType !== 'FieldsV1')
      return `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${i}`;
    if (formOf(fieldsV1) === 'none') return `error decoding set in managed fields entry ${i}`;
  }
  return undefined;
}

/** Reads the entries; of several entries of one manager the last wins. Undefined if an entry is malformed. */
export function readManagers(entries: readonly ManagedFieldsEntry[] | undefined): Manager[] | undefined {
  if (entriesFault(entries) !== undefined) return undefined;
  const managers: Manager[] = [];
  for (const entry of entries ?? []) {
    const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsV1 = {} } = entry;
    managers.push({
      name: manager,
      operation: operation as Manager['operation'],
      apiVersion,
      subresource,
      time,
      fields: fieldsV1 as FieldSet,
      inOrder: formOf(fieldsV1) === 'ordered',
      entry,
    });
  }
  return managers.length > 1 ? withoutRepeats(managers) : managers;
}

function withoutRepeats(managers: Manager[]): Manager[] {
  const last = new Map<string, Manager>();
  for (const manager of managers) {
    const { name, operation, apiVersion, subresource } = manager;
    last.set(`${operation === 'Apply' ? '' : apiVersion} ${subresource} ${operation} ${name}`, manager);
  }
  return last.size === managers.length ? managers : [...last.values()];
}

function entryOf(manager: Manager): ManagedFieldsEntry {
  if (manager.entry !== undefined) return manager.entry;
  const entry: ManagedFieldsEntry = {
    manager: manager.name,
    operation: manager.operation,
    apiVersion: manager.apiVersion,
  };
  if (manager.time !== undefined) entry.time = manager.time;
  entry.fieldsType = 'FieldsV1';
  entry.fieldsV1 = manager.inOrder ? manager.fields : sorted(manager.fields);
  if (manager.subresource !== '') entry.subresource = manager.subresource;
  return entry;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The entries of all managers that own fields, in the order of release 1.24. */
export function writeManagers(managers: readonly Manager[]): ManagedFieldsEntry[] {
  return managers
    .filter((manager) => !isEmptySet(manager.fields))
    .sort(
      (a, b) =>
        compareText(a.operation, b.operation) ||
        compareText(a.time ?? '', b.time ?? '') ||
        compareText(a.name, b.name) ||
        compareText(a.apiVersion, b.apiVersion) ||
        compareText(a.subresource, b.subresource),
    )
    .map(entryOf);
}

/** The manager without these paths; returns the manager itself if it owns none of them. */
export function withoutFields(manager: Manager, removed: FieldSet): Manager {
  const fields = difference(manager.fields, removed);
  if (fields === manager.fields) return manager;
  const { name, operation, apiVersion, subresource, time, inOrder } = manager;
  return { name, operation, apiVersion, subresource, time, fields, inOrder, entry: undefined };
}

/** Beyond this number the oldest updaters are merged, so that entries do not accumulate. */
const maxUpdaters = 10;
const joinedName = 'ancient-changes';

/**
 * Merges the oldest updaters of each version until few enough remain. An updater that is the only old one of its
 * version stays unchanged (1.24's capUpdateManagers).
 */
export function joinOldUpdaters(managers: readonly Manager[]): readonly Manager[] {
  if (managers.length <= maxUpdaters) return managers;
  const updaters = managers
    .filter((manager) => manager.operation === 'Update' && !isEmptySet(manager.fields))
    .sort((a, b) => compareText(a.time ?? '', b.time ?? '') || compareText(identifierOf(a), identifierOf(b)));
  const left = new Map(managers.map((manager) => [identifierOf(manager), manager]));
  const firsts = new Map<string, string>();
  let count = updaters.length;
  for (const updater of updaters) {
    if (count <= maxUpdaters) break;
    const { apiVersion, time } = updater;
    const [own, first] = [identifierOf(updater), firsts.get(apiVersion)];
    if (first === undefined) {
      firsts.set(apiVersion, own);
      continue;
    }
    const bucket = { name: joinedName, operation: 'Update', apiVersion, subresource: '' } as const;
    const joined = identifierOf(bucket);
    let before = left.get(joined);
    if (before === undefined) {
      before = left.get(first);
      left.delete(first);
    }
    const fields = union(updater.fields, before?.fields ?? emptySet);
    const inOrder = updater.inOrder && before?.inOrder !== false;
    left.delete(own);
    left.set(joined, { ...bucket, time, fields, inOrder, entry: undefined });
    count--;
  }
  return [...left.values()];
}

/** The identifier of an updater in 1.24, which also orders updaters of the same time. */
function identifierOf({ name, operation, apiVersion, subresource }: ManagerIdentity): string {
  return JSON.stringify({
    ...(name !== '' && { manager: name }),
    operation,
    ...(operation === 'Update' && { apiVersion }),
    ...(subresource !== '' && { subresource }),
  });
}

/** The manager with a new time if its fields or values changed, or else its previous time. */
export function retimed(
  previous: Manager | undefined,
  manager: Omit<Manager, 'time'>,
  nowMs: number | undefined,
  touched: boolean,
): Manager {
  const same = previous !== undefined && !touched && setsEqual(previous.fields, manager.fields);
  return { ...manager, time: same ? previous.time : (timeOf(nowMs) ?? previous?.time) };
}

/** `nowMs`: absent if times are not tracked. */
export function timeOf(nowMs: number | undefined): string | undefined {
  return nowMs === undefined ? undefined : formatTime(nowMs);
}

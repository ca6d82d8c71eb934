/**
 * Managers that wrote another version of the kind than a request speaks: what they manage has names of that version, so
 * changes are compared there, and what is taken out is taken out there (structured-merge-diff v4.2 merge/update.go).
 * Conversions are asked for only where there are such managers, and something that they manage may have changed.
 */
import { compare } from '#apimachinery/apply/compare.js';
import { type Converting, inVersion, type OtherVersions } from '#apimachinery/apply/conversions.js';
import { emptySet, type FieldSet, setsEqual, union } from '#apimachinery/apply/field-set.js';
import { fieldsOf } from '#apimachinery/apply/fields-of.js';
import { type Manager, withoutEntries } from '#apimachinery/apply/managers.js';
import { prune } from '#apimachinery/apply/merge.js';
import type { JsonObject } from '#apimachinery/apply/structure.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** What a write does to the object. */
export interface Changes {
  /** Fields that it adds or changes. */
  readonly touched: FieldSet;
  readonly removed: FieldSet;
}

const noChanges: Changes = { touched: emptySet, removed: emptySet };

export interface Write {
  /** The version that the request speaks. */
  readonly apiVersion: string;
  readonly versions: OtherVersions | undefined;
  /** Undefined when the object is being created. */
  readonly live: JsonObject | undefined;
  readonly updated: JsonObject;
  /** In the request's version. */
  readonly changes: Changes;
  /** True when that is all the same, in whatever version. */
  readonly isSame?: boolean;
  /** Fields whose changes get no manager. */
  readonly uncompared: FieldSet;
}

export type ChangesOf = (manager: Manager) => Changes | undefined;

/**
 * The changes of a write in the version of each of these managers; undefined for managers of versions that there are no
 * more. Where the object cannot be had in a version, nothing has changed for its managers.
 */
export function* changesByVersion(write: Write, managers: readonly Manager[]): Converting<ChangesOf> {
  const { versions, live, updated, changes, isSame = false } = write;
  // Who comes with a new object, or where nothing is known of versions: taken as it is.
  if (versions === undefined || live === undefined) return () => changes;
  const known = new Map<string, Changes | undefined>([[write.apiVersion, changes]]);
  for (const { apiVersion } of managers) {
    if (known.has(apiVersion)) continue;
    const type = versions.typeOf(apiVersion);
    known.set(apiVersion, type === undefined ? undefined : noChanges);
    if (type === undefined || isSame) continue;
    const [before, after] =
      (yield* inVersion(versions, [withoutEntries(live), withoutEntries(updated)], apiVersion)) ?? [];
    if (before === undefined || after === undefined) continue;
    known.set(apiVersion, yield* compare(type, before, after, write.uncompared));
    yield;
  }
  return ({ apiVersion }) => known.get(apiVersion);
}

export interface Pruning {
  /** Of the request's version, as are the object and what is wanted. */
  readonly type: TypeInfo;
  readonly apiVersion: string;
  readonly versions: OtherVersions | undefined;
  readonly object: JsonObject;
  /** What the applier has applied before. */
  readonly previous: Manager;
  readonly others: readonly Manager[];
  /** What it applies now. */
  readonly wanted: FieldSet;
  /** Stays, whoever manages it. */
  readonly always: FieldSet;
}

/** The object without what the applier has applied before, and neither wants now nor shares with others. */
export function* pruned(pruning: Pruning): Converting<JsonObject> {
  const { type, apiVersion, versions, object, previous, others, wanted, always } = pruning;
  if (versions === undefined || ![previous, ...others].some((manager) => manager.apiVersion !== apiVersion)) {
    let kept = union(wanted, always);
    for (const manager of others) {
      yield;
      kept = union(kept, manager.fields);
    }
    yield;
    return prune(type, object, previous.fields, kept);
  }
  const own = versions.typeOf(previous.apiVersion);
  // What it said then has no names any more.
  if (own === undefined) return object;
  const managed = managedByVersion(pruning, versions);
  yield;
  // From here on in the version in which the applier spoke then.
  const [whole] = yield* allInVersion(versions, [object], previous.apiVersion);
  let kept = union(managed.get(previous.apiVersion) ?? emptySet, always);
  let result = prune(own, whole, previous.fields, kept);
  for (const [version, fields] of managed) {
    if (result === whole) return object;
    const theirs = versions.typeOf(version);
    if (version === previous.apiVersion || theirs === undefined) continue;
    yield;
    const [before, after] = yield* allInVersion(versions, [object, result], version);
    const left = yield* fieldsOf(theirs, after);
    const shared = prune(theirs, before, yield* fieldsOf(theirs, before), union(left, fields));
    if (setsEqual(yield* fieldsOf(theirs, shared), left)) continue;
    const [needed] = yield* allInVersion(versions, [shared], previous.apiVersion);
    kept = union(kept, yield* fieldsOf(own, needed));
    result = prune(own, whole, previous.fields, kept);
  }
  if (result === whole) return object;
  const [back] = yield* allInVersion(versions, [result], apiVersion);
  return back;
}

/** What is managed after the write, by version; versions that there are no more are left out. */
function managedByVersion({ apiVersion, wanted, others }: Pruning, { typeOf }: OtherVersions): Map<string, FieldSet> {
  const managed = new Map<string, FieldSet>([[apiVersion, wanted]]);
  for (const manager of others) {
    const known = managed.get(manager.apiVersion);
    if (known === undefined && typeOf(manager.apiVersion) === undefined) continue;
    managed.set(manager.apiVersion, union(known ?? emptySet, manager.fields));
  }
  return managed;
}

/** The same of conversions without which there is no result. */
function* allInVersion<T extends readonly JsonObject[]>(
  versions: OtherVersions,
  objects: readonly [...T],
  apiVersion: string,
): Converting<{ [K in keyof T]: JsonObject }> {
  const answer = yield* inVersion(versions, objects, apiVersion);
  if (answer === undefined) throw new RangeError(`conversion: nothing was converted to ${apiVersion}`);
  return answer as { [K in keyof T]: JsonObject };
}

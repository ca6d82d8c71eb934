/**
 * Managers that wrote another version of the kind than the request: their fields are named in that version, so changes
 * are compared and fields are pruned there (structured-merge-diff v4.2 merge/update.go). Objects are converted only for
 * such managers, and only if their fields may have changed.
 */

import { fieldsOf } from '#apimachinery/apply/applied-fields.js';
import { compare } from '#apimachinery/apply/compare.js';
import { type Converting, inVersion, type OtherVersions } from '#apimachinery/apply/conversions.js';
import { emptySet, type FieldSet, setsEqual, union } from '#apimachinery/apply/field-set.js';
import { type Manager, withoutEntries } from '#apimachinery/apply/managers.js';
import { prune } from '#apimachinery/apply/merge.js';
import type { JsonObject } from '#apimachinery/apply/structure.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** The changes of a write to the object. */
export interface Changes {
  /** Fields that are added or changed. */
  readonly touched: FieldSet;
  readonly removed: FieldSet;
}

const noChanges: Changes = { touched: emptySet, removed: emptySet };

export interface Write {
  /** The API version of the request. */
  readonly apiVersion: string;
  readonly versions: OtherVersions | undefined;
  /** Undefined if the object is being created. */
  readonly live: JsonObject | undefined;
  readonly updated: JsonObject;
  /** In the request's version. */
  readonly changes: Changes;
  /** True if nothing changed, in any version. */
  readonly isSame?: boolean;
  /** Fields whose changes get no manager. */
  readonly uncompared: FieldSet;
}

export type ChangesOf = (manager: Manager) => Changes | undefined;

/**
 * The changes of a write in the version of each of these managers; undefined for managers of removed versions. If
 * conversion fails, the managers of that version count as unaffected.
 */
export function* changesByVersion(write: Write, managers: readonly Manager[]): Converting<ChangesOf> {
  const { versions, live, updated, changes, isSame = false } = write;
  // A new object, or a kind with a single version: the managers keep their fields.
  if (versions === undefined || live === undefined) return () => changes;
  const changesOf = new Map<string, Changes | undefined>([[write.apiVersion, changes]]);
  for (const { apiVersion } of managers) {
    if (changesOf.has(apiVersion)) continue;
    const type = versions.typeOf(apiVersion);
    changesOf.set(apiVersion, type === undefined ? undefined : noChanges);
    if (type === undefined || isSame) continue;
    const [before, after] =
      (yield* inVersion(versions, [withoutEntries(live), withoutEntries(updated)], apiVersion)) ?? [];
    if (before === undefined || after === undefined) continue;
    changesOf.set(apiVersion, yield* compare(type, before, after, write.uncompared));
    yield;
  }
  return ({ apiVersion }) => changesOf.get(apiVersion);
}

export interface Pruning {
  /** The type in the request's version, like `object` and `appliedFields`. */
  readonly type: TypeInfo;
  readonly apiVersion: string;
  readonly versions: OtherVersions | undefined;
  readonly object: JsonObject;
  /** The previous configuration of the applier. */
  readonly previous: Manager;
  readonly others: readonly Manager[];
  /** The fields of the current configuration. */
  readonly appliedFields: FieldSet;
  /** Fields that always stay. */
  readonly always: FieldSet;
}

/** The object without the fields that the applier's configuration no longer has and no other manager owns. */
export function* pruned(pruning: Pruning): Converting<JsonObject> {
  const { type, apiVersion, versions, object, previous, others, appliedFields, always } = pruning;
  if (versions === undefined || ![previous, ...others].some((manager) => manager.apiVersion !== apiVersion)) {
    let kept = union(appliedFields, always);
    for (const manager of others) {
      yield;
      kept = union(kept, manager.fields);
    }
    yield;
    return prune(type, object, previous.fields, kept);
  }
  const own = versions.typeOf(previous.apiVersion);
  // The version was removed, so its field names mean nothing now.
  if (own === undefined) return object;
  const managed = managedByVersion(pruning, versions);
  yield;
  // From here on in the version of the previous configuration.
  const [whole] = yield* allInVersion(versions, [object], previous.apiVersion);
  let kept = union(managed.get(previous.apiVersion) ?? emptySet, always);
  let result = prune(own, whole, previous.fields, kept);
  for (const [version, fields] of managed) {
    if (result === whole) return object;
    const theirs = versions.typeOf(version);
    if (version === previous.apiVersion || theirs === undefined) continue;
    yield;
    const [before, after] = yield* allInVersion(versions, [object, result], version);
    const remaining = yield* fieldsOf(theirs, after);
    const shared = prune(theirs, before, yield* fieldsOf(theirs, before), union(remaining, fields));
    if (setsEqual(yield* fieldsOf(theirs, shared), remaining)) continue;
    const [needed] = yield* allInVersion(versions, [shared], previous.apiVersion);
    kept = union(kept, yield* fieldsOf(own, needed));
    result = prune(own, whole, previous.fields, kept);
  }
  if (result === whole) return object;
  const [back] = yield* allInVersion(versions, [result], apiVersion);
  return back;
}

/** The managed fields after the write, by version; removed versions are omitted. */
function managedByVersion(
  { apiVersion, appliedFields, others }: Pruning,
  { typeOf }: OtherVersions,
): Map<string, FieldSet> {
  const managed = new Map<string, FieldSet>([[apiVersion, appliedFields]]);
  for (const manager of others) {
    const previous = managed.get(manager.apiVersion);
    if (previous === undefined && typeOf(manager.apiVersion) === undefined) continue;
    managed.set(manager.apiVersion, union(previous ?? emptySet, manager.fields));
  }
  return managed;
}

/** Like `inVersion`, but throws if the conversion fails. */
function* allInVersion<T extends readonly JsonObject[]>(
  versions: OtherVersions,
  objects: readonly [...T],
  apiVersion: string,
): Converting<{ [K in keyof T]: JsonObject }> {
  const answer = yield* inVersion(versions, objects, apiVersion);
  if (answer === undefined) throw new RangeError(`conversion: nothing was converted to ${apiVersion}`);
  return answer as { [K in keyof T]: JsonObject };
}

/**
 * Managers that wrote another version of the kind than a request speaks: what they manage has names of that version, so
 * changes are compared there (structured-merge-diff merge/update.go). Conversions are asked for only where there are such
 * managers.
 */
import { compare } from '#apimachinery/apply/compare.js';
import { difference, emptySet, type FieldSet } from '#apimachinery/apply/field-set.js';
import { fieldsOf } from '#apimachinery/apply/fields-of.js';
import type { Manager } from '#apimachinery/apply/managers.js';
import { prune } from '#apimachinery/apply/merge.js';
import type { JsonObject } from '#apimachinery/apply/structure.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** Other versions of the kind that a request speaks. */
export interface OtherVersions {
  /** The type of the kind in that version; undefined when it has no such version. */
  typeOf(apiVersion: string): TypeInfo | undefined;
  /** An object of the request's version as that one has it. Neither changes its argument. */
  to(apiVersion: string, object: JsonObject): JsonObject;
  /** The way back. */
  from(apiVersion: string, object: JsonObject): JsonObject;
}

/** What a write does to the object. */
export interface Changes {
  /** Fields that it adds or changes. */
  readonly touched: FieldSet;
  readonly removed: FieldSet;
}

export interface Write {
  /** The version that the request speaks. */
  readonly apiVersion: string;
  readonly versions: OtherVersions | undefined;
  /** Undefined when the object is being created. */
  readonly live: JsonObject | undefined;
  readonly updated: JsonObject;
  /** In the request's version. */
  readonly changes: Changes;
  /** Fields that count, of those touched. */
  readonly counting: (touched: FieldSet) => FieldSet;
  /** Never compared. */
  readonly except?: FieldSet;
}

/** The changes of a write in the version of each manager; undefined for managers of versions that there are no more. */
export function changesByVersion(write: Write): (manager: Manager) => Changes | undefined {
  const { versions, live, updated, changes } = write;
  const known = new Map<string, Changes | undefined>([[write.apiVersion, changes]]);
  return ({ apiVersion }) => {
    // Who comes with a new object, or where nothing is known of versions: taken as it is.
    if (versions === undefined || live === undefined) return changes;
    if (known.has(apiVersion)) return known.get(apiVersion);
    const type = versions.typeOf(apiVersion);
    let found: Changes | undefined;
    if (type !== undefined) {
      const { touched, removed } = compare(
        type,
        versions.to(apiVersion, live),
        versions.to(apiVersion, updated),
        write.except,
      );
      found = { touched: write.counting(touched), removed };
    }
    known.set(apiVersion, found);
    return found;
  };
}

/**
 * What a manager manages, in the names of the request's version: what is missing or different there when its fields are
 * taken out of the object in its own version. Nothing for versions that there are no more.
 */
export function fieldsInVersion(
  manager: Manager,
  object: JsonObject,
  { type, apiVersion, versions }: { type: TypeInfo; apiVersion: string; versions: OtherVersions | undefined },
): FieldSet {
  if (versions === undefined || manager.apiVersion === apiVersion) return manager.fields;
  const theirs = versions.typeOf(manager.apiVersion);
  if (theirs === undefined) return emptySet;
  const inTheirs = versions.to(manager.apiVersion, object);
  // What is in the same field and somebody else's stays there, and so does the field.
  const others = difference(fieldsOf(theirs, inTheirs), manager.fields);
  const without = prune(theirs, inTheirs, manager.fields, others);
  return compare(type, versions.from(manager.apiVersion, without), object).touched;
}

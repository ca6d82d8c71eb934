/**
 * Checks that elements of custom lists are unique: all elements of a set, and the keys of a map's elements. Source:
 * 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go.
 */

import { membersWithin } from '#api/apiextensions/v1/structural/embedded-resources.js';
import { isMembers, type Structural } from '#api/apiextensions/v1/structural/structural.js';
import { goSyntax } from '#apimachinery/errors/go-value.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { addAll, duplicate, GoValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export function validateListItems(object: object, schema: Structural): FieldFailure[] {
  return validateWithin(object, schema, undefined);
}

/** For updates: an object that was stored with duplicates before the definition forbade them can still be changed. */
export function validateListItemsUpdate(object: object, old: object, schema: Structural): FieldFailure[] {
  const failures = validateListItems(object, schema);
  return failures.length > 0 && validateListItems(old, schema).length > 0 ? [] : failures;
}

function validateWithin(value: unknown, schema: Structural, path: FieldPath | undefined): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (Array.isArray(value)) {
    const at = path ?? FieldPath.of();
    if (schema.listType !== 'atomic') addAll(failures, validateDistinct(value, schema, at));
    const { items } = schema;
    if (items !== undefined && typeof value[0] === 'object') {
      value.forEach((element, i) => {
        addAll(failures, validateWithin(element, items, at.index(i)));
      });
    }
  } else if (isMembers(value)) {
    for (const nested of membersWithin(value, schema, path))
      addAll(failures, validateWithin(nested.member, nested.schema, nested.path));
  }
  return failures;
}

function validateDistinct(list: readonly unknown[], schema: Structural, path: FieldPath): FieldFailure[] {
  const seen = new Set<string>();
  const failures: FieldFailure[] = [];
  list.forEach((element, i) => {
    const key = schema.listType === 'map' ? keysOf(element, schema) : element;
    const text = canonical(key);
    if (seen.has(text)) failures.push(duplicate(path.index(i), shown(key)));
    seen.add(text);
  });
  return failures;
}

function shown(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? new GoValue(() => goSyntax(value)) : value;
}

function keysOf(element: unknown, { listMapKeys, items }: Structural): unknown {
  if (!isMembers(element)) return element;
  const keys: Record<string, unknown> = {};
  for (const name of listMapKeys) {
    const value = element[name] ?? items?.properties.get(name)?.default;
    if (value !== undefined) keys[name] = value;
  }
  return keys;
}

/** Equal for equal values, regardless of the order of members. */
export function canonical(value: unknown): string {
  return toJSONText(inOrder(value));
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isMembers(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]));
}

/**
 * Checks that elements of custom lists are unique: all elements of a set, and the keys of a map's elements. Source:
 * 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go.
 */

import { membersWithin } from '#api/apiextensions/v1/structural/embedded-resources.js';
import { isMembers, type Structural } from '#api/apiextensions/v1/structural/structural.js';
import { ValidationWork } from '#api/apiextensions/v1/values/validation-work.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { goSyntax } from '#apimachinery/errors/go-value.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { addAll, duplicate, GoValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/**
 * Failures of an object, in steps. `old`: before an update; an object that was stored with duplicates before the definition
 * forbade them can still be changed. Throws TooManyChecks.
 */
export function* listItemSteps(
  object: object,
  old: object | undefined,
  schema: Structural,
  work: ValidationWork = new ValidationWork(),
): Steps<readonly FieldFailure[]> {
  const failures = yield* within(object, schema, undefined, work);
  if (failures.length === 0 || old === undefined) return failures;
  return (yield* within(old, schema, undefined, work)).length > 0 ? [] : failures;
}

function* within(
  value: unknown,
  schema: Structural,
  path: FieldPath | undefined,
  work: ValidationWork,
): Steps<FieldFailure[]> {
  const failures: FieldFailure[] = [];
  if (work.pauses()) yield;
  if (Array.isArray(value)) {
    const at = path ?? FieldPath.of();
    if (schema.listType !== 'atomic') addAll(failures, yield* distinct(value, schema, at, work));
    const { items } = schema;
    if (items !== undefined && typeof value[0] === 'object') {
      for (const [i, element] of value.entries()) {
        work.spend(1);
        if (isComposite(element)) addAll(failures, yield* within(element, items, at.index(i), work));
      }
    }
  } else if (isMembers(value)) {
    for (const nested of membersWithin(value, schema, path)) {
      work.spend(1);
      addAll(failures, yield* within(nested.member, nested.schema, nested.path, work));
    }
  }
  return failures;
}

function isComposite(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function* distinct(
  list: readonly unknown[],
  schema: Structural,
  path: FieldPath,
  work: ValidationWork,
): Steps<FieldFailure[]> {
  const seen = new Set<string>();
  const failures: FieldFailure[] = [];
  const keys = schema.listType === 'map' ? schema.listMapKeys.length : 0;
  for (const [i, element] of list.entries()) {
    work.spend(1);
    work.compare(keys);
    if (work.pauses()) yield;
    const key = schema.listType === 'map' ? keysOf(element, schema) : element;
    const text = canonical(key);
    if (seen.has(text)) failures.push(duplicate(path.index(i), shown(key)));
    seen.add(text);
  }
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

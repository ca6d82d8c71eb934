/** Fields that nobody changes once the object exists, as their declarations say. */
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { addAll, none } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** The way to such a field: names of fields. */
export type ImmutablePath = readonly [string, ...string[]];

/** Those of a kind, in the order of their numbers. None is in a list, whose elements come and go. */
export function immutablePaths(type: TypeInfo, within: readonly TypeInfo[] = []): readonly ImmutablePath[] {
  if (within.includes(type)) return [];
  return [...type.byName.values()].flatMap((field): readonly ImmutablePath[] => {
    if (field.immutable === true) return [[field.name]];
    if (field.container !== 'single' || field.type === undefined) return [];
    return immutablePaths(field.type, [...within, type]).map((rest) => [field.name, ...rest]);
  });
}

/** `field is immutable` for each that changed. */
export function validateImmutablePaths(
  paths: readonly ImmutablePath[],
  object: object,
  old: object,
): readonly FieldFailure[] {
  if (paths.length === 0) return none;
  const failures: FieldFailure[] = [];
  for (const path of paths) {
    addAll(failures, validateImmutable(at(object, path), at(old, path), FieldPath.of(...path)));
  }
  return failures;
}

function at(object: object, path: ImmutablePath): unknown {
  return path.reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined),
    object,
  );
}

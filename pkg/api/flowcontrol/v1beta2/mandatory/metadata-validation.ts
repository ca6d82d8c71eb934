/** Rules of metadata and conditions that flow schemas and priority levels share. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { duplicate, invalidValue, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** The texts that stand for a boolean. */
const booleans = ['1', 't', 'T', 'TRUE', 'true', 'True', '0', 'f', 'F', 'FALSE', 'false', 'False'];

/** Whether the server keeps the object as it suggests: said by an annotation that must be a boolean. */
export function validateAutoUpdate(object: ApiObjectShape, dialect: Dialect): FieldFailure[] {
  const key = `apf.${dialect.labelDomain}/autoupdate-spec`;
  const value = object.metadata.annotations?.[key];
  if (value === undefined || booleans.includes(value)) return [];
  const path = FieldPath.of('metadata', 'annotations').key(key);
  return [invalidValue(path, value, 'must be a boolean text, such as "true" or "false"')];
}

/** One condition of each type. */
export function validateConditions(conditions: readonly { type?: string }[] | undefined): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const seen = new Set<string>();
  conditions?.forEach(({ type = '' }, i) => {
    const at = FieldPath.of('status', 'conditions').index(i).child('type');
    if (seen.has(type)) failures.push(duplicate(at, type));
    seen.add(type);
    if (type === '') failures.push(required(at, 'must not be empty'));
  });
  return failures;
}

/** Rules of conditions in their common form (metav1.Condition). */
import { declaration as schema } from '#api/meta/v1/shared.js';
import type { Condition } from '#api/meta/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkQualifiedName } from '#apimachinery/validation/checks.js';
import { addAll, duplicate, invalidValue, notSupported, required, tooLong } from '#apimachinery/validation/failure.js';
import { patternMessage } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { inWords, wordedRangesOf } from '#apimachinery/validation/ranges.js';

const maxReasonBytes = 1024;
const maxMessageBytes = 32 * 1024;
const reasonPattern = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const reasonText =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";

/** Condition types must be unique, and each condition complete. */
export function validateConditions(conditions: readonly Condition[] | undefined, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const types = new Set<string>();
  conditions?.forEach((condition, i) => {
    const at = path.index(i);
    const { type = '' } = condition;
    if (types.has(type)) failures.push(duplicate(at.child('type'), type));
    types.add(type);
    addAll(failures, checkQualifiedName(at.child('type'), type));
    addAll(failures, validateCondition(condition, at));
  });
  return failures;
}

const checkGeneration = wordedRangesOf(schema.types.Condition, inWords, 'observedGeneration');

/** All rules except those of the type. */
function validateCondition(condition: Condition, path: FieldPath): FieldFailure[] {
  const { status = '', reason = '', message = '' } = condition;
  const failures: FieldFailure[] = [];
  if (!schema.enums.ConditionStatus.includes(status))
    failures.push(notSupported(path.child('status'), status, schema.enums.ConditionStatus));
  addAll(failures, checkGeneration(condition, path));
  if ((condition.lastTransitionTime ?? '') === '') {
    failures.push(required(path.child('lastTransitionTime'), 'must be set'));
  }
  const at = path.child('reason');
  if (reason === '') failures.push(required(at, 'must be set'));
  else if (!new RegExp(`^${reasonPattern}$`).test(reason)) {
    const examples = ['my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB'];
    failures.push(invalidValue(at, reason, patternMessage(reasonText, reasonPattern, ...examples)));
  }
  if (Buffer.byteLength(reason) > maxReasonBytes) failures.push(tooLong(at, maxReasonBytes));
  if (Buffer.byteLength(message) > maxMessageBytes) failures.push(tooLong(path.child('message'), maxMessageBytes));
  return failures;
}

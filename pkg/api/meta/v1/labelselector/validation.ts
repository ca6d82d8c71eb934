/** Rules of label selectors in objects. */
import { validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import type { LabelSelector, LabelSelectorRequirement } from '#api/meta/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, forbiddenField, invalidEach, invalidValue, none, required } from '#apimachinery/validation/failure.js';
import { qualifiedNameErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/**
 * The whole selector; an absent one is valid. Values of expressions need not be labels: code that uses the selector
 * handles that with `compileSelector`.
 */
export function validateLabelSelector(selector: LabelSelector | undefined, path: FieldPath): readonly FieldFailure[] {
  if (selector === undefined) return none;
  const labels = validateLabels(selector.matchLabels, path.child('matchLabels'));
  if (selector.matchExpressions === undefined) return labels;
  const failures = [...labels];
  selector.matchExpressions.forEach((requirement, i) => {
    addAll(failures, validateRequirement(requirement, path.child('matchExpressions').index(i)));
  });
  return failures;
}

/** True if the selector has no requirements: it selects everything. */
export function isEmptySelector(selector: LabelSelector): boolean {
  return Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;
}

function validateRequirement(requirement: LabelSelectorRequirement, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) {
        failures.push(required(path.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"));
      }
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        const text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        failures.push(forbiddenField(path.child('values'), text));
      }
      break;
    default:
      failures.push(invalidValue(path.child('operator'), requirement.operator ?? '', 'not a valid selector operator'));
  }
  addAll(failures, invalidEach(path.child('key'), requirement.key ?? '', qualifiedNameErrors(requirement.key ?? '')));
  return failures;
}

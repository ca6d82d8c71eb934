/** Rules and defaults of jobs; cron jobs carry them in templates. */
import { templateMatchesSelector } from '#api/apps/v1/workload/validation.js';
import type { JobSpec } from '#api/batch/v1/types.gen.js';
import { validatePodTemplate } from '#api/core/v1/podtemplate/template.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkNonNegative, checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** An indexed job keeps one bit per index, so their number is bounded. */
const maxIndexedParallelism = 100_000;

/** Everything but the selector. */
export function validateJobSpec(spec: JobSpec, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const failures = (
    ['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished'] as const
  ).flatMap((field) => checkNonNegative(path.child(field), spec[field]));
  failures.push(...checkOptionalEnum(path.child('completionMode'), spec.completionMode, ['NonIndexed', 'Indexed']));
  if (spec.completionMode === 'Indexed') {
    if (spec.completions === undefined) {
      failures.push(required(path.child('completions'), 'when completion mode is Indexed'));
    }
    if ((spec.parallelism ?? 0) > maxIndexedParallelism) {
      const text = `must be less than or equal to ${maxIndexedParallelism} when completion mode is Indexed`;
      failures.push(invalidValue(path.child('parallelism'), spec.parallelism, text));
    }
  }
  const at = path.child('template');
  if (spec.template === undefined) return [...failures, required(at)];
  failures.push(...validatePodTemplate(spec.template, dialect, at));
  return [
    ...failures,
    ...validateRestartPolicy(spec.template.spec?.restartPolicy ?? '', at.child('spec', 'restartPolicy')),
  ];
}

function validateRestartPolicy(policy: string, path: FieldPath): FieldFailure[] {
  // It is what a pod gets when nothing is said, so the message asks for one.
  if (policy === 'Always') return [required(path, 'valid values: "OnFailure", "Never"')];
  return policy === 'OnFailure' || policy === 'Never' ? [] : [notSupported(path, policy, ['OnFailure', 'Never'])];
}

/** A job's selector: there, well formed, and selecting the job's own pods. */
export function validateJobSelector(spec: JobSpec, path: FieldPath): FieldFailure[] {
  if (spec.selector === undefined) return [required(path.child('selector'))];
  const failures = validateLabelSelector(spec.selector, path.child('selector'));
  if (spec.template === undefined) return failures;
  return [...failures, ...templateMatchesSelector(spec.template, spec.selector, path.child('template'))];
}

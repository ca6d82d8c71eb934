/** Rules that both versions of horizontal pod autoscalers share. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { invalidEach, invalidValue } from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');

export interface ScaleBounds {
  readonly scaleTargetRef?: { readonly kind?: string; readonly name?: string };
  readonly minReplicas?: number;
  readonly maxReplicas?: number;
}

/** What is scaled, and between which numbers. */
export function validateScaleBounds(spec: ScaleBounds, minimum: 0 | 1 = 1): FieldFailure[] {
  const { minReplicas, maxReplicas = 0 } = spec;
  const failures: FieldFailure[] = [];
  const maxPath = specPath.child('maxReplicas');
  if (minReplicas !== undefined && minReplicas < minimum) {
    failures.push(
      invalidValue(specPath.child('minReplicas'), minReplicas, `must be greater than or equal to ${minimum}`),
    );
  }
  if (maxReplicas < 1) failures.push(invalidValue(maxPath, maxReplicas, 'must be greater than 0'));
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    failures.push(invalidValue(maxPath, maxReplicas, 'must be greater than or equal to `minReplicas`'));
  }
  const ref = specPath.child('scaleTargetRef');
  for (const field of ['kind', 'name'] as const) {
    const value = spec.scaleTargetRef?.[field] ?? '';
    failures.push(
      ...checkRequired(ref.child(field), value),
      ...invalidEach(ref.child(field), value, pathSegmentErrors(value)),
    );
  }
  return failures;
}

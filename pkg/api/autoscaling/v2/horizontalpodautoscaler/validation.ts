/** Rules of horizontal pod autoscalers; those of version 1 are checked in the form of version 2, as they are stored. */

import { validateBehavior } from '#api/autoscaling/v2/horizontalpodautoscaler/behavior-validation.js';
import { validateMetric, validateReference } from '#api/autoscaling/v2/horizontalpodautoscaler/metric-validation.js';
import { declaration as schema } from '#api/autoscaling/v2/horizontalpodautoscaler.js';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  MetricSpec,
} from '#api/autoscaling/v2/types.gen.js';
import type { RuleGate } from '#api/strategy/feature-gates.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, forbiddenField, invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const specPath = FieldPath.of('spec');
const checkMost = rangesOf(schema.types.HorizontalPodAutoscalerSpec, 'maxReplicas');
const checkCounts = rangesOf(schema.types.HorizontalPodAutoscalerStatus, 'currentReplicas', 'desiredReplicas');

/** `old` is what an update replaces: one that scales to nothing already may go on doing so. */
export function validateScaler(
  { spec }: HorizontalPodAutoscaler,
  gate: RuleGate,
  old: HorizontalPodAutoscaler | undefined,
): FieldFailure[] {
  const minimum = gate('HPAScaleToZero') || old?.spec.minReplicas === 0 ? 0 : 1;
  const metrics = specPath.child('metrics');
  return [
    ...validateBounds(spec, minimum),
    ...validateReference(spec.scaleTargetRef, specPath.child('scaleTargetRef')),
    ...(spec.metrics ?? []).flatMap((metric, i) => validateMetric(metric, gate, metrics.index(i))),
    ...validateZero(spec.minReplicas, spec.metrics ?? [], metrics),
    ...validateBehavior(spec.behavior, specPath.child('behavior')),
  ];
}

/** Between which numbers it scales. */
function validateBounds(spec: HorizontalPodAutoscalerSpec, minimum: 0 | 1): FieldFailure[] {
  const { minReplicas, maxReplicas = 0 } = spec;
  const failures: FieldFailure[] = [];
  const maxPath = specPath.child('maxReplicas');
  if (minReplicas !== undefined && minReplicas < minimum) {
    const text = `must be greater than or equal to ${minimum}`;
    failures.push(invalidValue(specPath.child('minReplicas'), minReplicas, text));
  }
  addAll(failures, checkMost(spec, specPath));
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    failures.push(invalidValue(maxPath, maxReplicas, 'must be greater than or equal to `minReplicas`'));
  }
  return failures;
}

/** No pods at all is for who can know from elsewhere that there is work again. */
function validateZero(
  minReplicas: number | undefined,
  metrics: readonly MetricSpec[],
  path: FieldPath,
): FieldFailure[] {
  if (minReplicas !== 0 || metrics.some(({ type }) => type === 'Object' || type === 'External')) return [];
  const text = 'must specify at least one Object or External metric to support scaling to zero replicas';
  return [forbiddenField(path, text)];
}

/** What a controller reports; of all versions. */
export function validateScalerStatus(status: object | undefined): readonly FieldFailure[] {
  return checkCounts(status, FieldPath.of('status'));
}

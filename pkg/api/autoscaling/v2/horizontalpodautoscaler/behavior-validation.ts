/** Rules of how fast an autoscaler may scale. */
import { declaration as schema } from '#api/autoscaling/v2/horizontalpodautoscaler.js';
import type {
  HorizontalPodAutoscalerBehavior,
  HPAScalingPolicy,
  HPAScalingRules,
} from '#api/autoscaling/v2/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const maxWindowSeconds = 3600;
const maxPeriodSeconds = 1800;

export function validateBehavior(
  behavior: HorizontalPodAutoscalerBehavior | undefined,
  path: FieldPath,
): FieldFailure[] {
  return (['scaleUp', 'scaleDown'] as const).flatMap((field) => {
    const rules = behavior?.[field];
    return rules === undefined ? [] : validateRules(rules, path.child(field));
  });
}

function validateRules(rules: HPAScalingRules, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const seconds = rules.stabilizationWindowSeconds ?? 0;
  const window = path.child('stabilizationWindowSeconds');
  if (seconds < 0) failures.push(invalidValue(window, seconds, 'must be greater than or equal to zero'));
  if (seconds > maxWindowSeconds) {
    failures.push(invalidValue(window, seconds, `must be less than or equal to ${maxWindowSeconds}`));
  }
  addAll(failures, checkOptionalEnum(path.child('selectPolicy'), rules.selectPolicy, schema.enums.ScalingPolicySelect));
  const policies = rules.policies ?? [];
  if (policies.length === 0) failures.push(required(path.child('policies'), 'must specify at least one Policy'));
  return [...failures, ...policies.flatMap((policy, i) => validatePolicy(policy, path.child('policies').index(i)))];
}

function validatePolicy(policy: HPAScalingPolicy, path: FieldPath): FieldFailure[] {
  const { type = '', value = 0, periodSeconds = 0 } = policy;
  const failures: FieldFailure[] = [];
  if (!schema.enums.HPAScalingPolicyType.includes(type))
    failures.push(notSupported(path.child('type'), type, schema.enums.HPAScalingPolicyType));
  if (value <= 0) failures.push(invalidValue(path.child('value'), value, 'must be greater than zero'));
  const period = path.child('periodSeconds');
  if (periodSeconds <= 0) failures.push(invalidValue(period, periodSeconds, 'must be greater than zero'));
  if (periodSeconds > maxPeriodSeconds) {
    failures.push(invalidValue(period, periodSeconds, `must be less than or equal to ${maxPeriodSeconds}`));
  }
  return failures;
}

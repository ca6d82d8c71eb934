/** Rules of how fast an autoscaler may scale. */
import { declaration as schema } from '#api/autoscaling/v2/horizontalpodautoscaler.js';
import type {
  HorizontalPodAutoscalerBehavior,
  HPAScalingPolicy,
  HPAScalingRules,
} from '#api/autoscaling/v2/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { addAll, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { inWords, wordedRangesOf } from '#apimachinery/validation/ranges.js';

const checkWindow = wordedRangesOf(schema.types.HPAScalingRules, inWords, 'stabilizationWindowSeconds');
const checkPolicy = wordedRangesOf(schema.types.HPAScalingPolicy, inWords, 'value', 'periodSeconds');

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
  const failures = [...checkWindow(rules, path)];
  addAll(failures, checkOptionalEnum(path.child('selectPolicy'), rules.selectPolicy, schema.enums.ScalingPolicySelect));
  const policies = rules.policies ?? [];
  if (policies.length === 0) failures.push(required(path.child('policies'), 'must specify at least one Policy'));
  return [...failures, ...policies.flatMap((policy, i) => validatePolicy(policy, path.child('policies').index(i)))];
}

function validatePolicy(policy: HPAScalingPolicy, path: FieldPath): FieldFailure[] {
  const { type = '' } = policy;
  const failures: FieldFailure[] = [];
  if (!schema.enums.HPAScalingPolicyType.includes(type))
    failures.push(notSupported(path.child('type'), type, schema.enums.HPAScalingPolicyType));
  addAll(failures, checkPolicy(policy, path));
  return failures;
}

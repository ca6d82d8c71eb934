import { withoutRoundTrip } from '#api/autoscaling/v2/horizontalpodautoscaler/annotation-fields.js';
import { validateMetric, validateReference } from '#api/autoscaling/v2/horizontalpodautoscaler/metric-validation.js';
import {
  newMetric,
  newStatus,
  oldMetric,
  oldStatus,
} from '#api/autoscaling/v2/horizontalpodautoscaler/older-metrics.js';
import { declaration as schema } from '#api/autoscaling/v2/horizontalpodautoscaler.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerBehavior,
  HorizontalPodAutoscalerSpec,
  HPAScalingPolicy,
  HPAScalingRules,
  MetricSpec,
  MetricStatus,
  MetricValueStatus,
} from '#api/autoscaling/v2/types.gen.js';
import type { RuleGate } from '#api/strategy/feature-gates.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { inWords, rangesOf, wordedRangesOf } from '#apimachinery/validation/ranges.js';

const checkWindow = wordedRangesOf(schema.types.HPAScalingRules, inWords, 'stabilizationWindowSeconds');
const checkPolicy = wordedRangesOf(schema.types.HPAScalingPolicy, inWords, 'value', 'periodSeconds');

function validateBehavior(behavior: HorizontalPodAutoscalerBehavior | undefined, path: FieldPath): FieldFailure[] {
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

const specPath = FieldPath.of('spec');
const checkMost = rangesOf(schema.types.HorizontalPodAutoscalerSpec, 'maxReplicas');
const checkCounts = rangesOf(schema.types.HorizontalPodAutoscalerStatus, 'currentReplicas', 'desiredReplicas');

/**
 * Rules of autoscalers; those of version 1 are validated in their stored form, version 2. `old` is the stored object:
 * if it scales to zero, it may continue to.
 */
function validateScaler(
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

/** The bounds of replicas. */
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

/** Scaling to zero requires a metric that is independent of running pods. */
function validateZero(
  minReplicas: number | undefined,
  metrics: readonly MetricSpec[],
  path: FieldPath,
): FieldFailure[] {
  if (minReplicas !== 0 || metrics.some(({ type }) => type === 'Object' || type === 'External')) return [];
  const text = 'must specify at least one Object or External metric to support scaling to zero replicas';
  return [forbiddenField(path, text)];
}

/** The status, in all versions. */
function validateScalerStatus(status: object | undefined): readonly FieldFailure[] {
  return checkCounts(status, FieldPath.of('status'));
}

/** Further metrics are only counted in tables. */
const shownMetrics = 2;
/** Percentage of the requested CPU, without metrics. */
export const defaultCPUPercent = 80;
const sourceFields = ['object', 'pods', 'resource', 'containerResource', 'external'] as const;

export const horizontalPodAutoscalerStrategy: Strategy<HorizontalPodAutoscaler> = kindStrategy<HorizontalPodAutoscaler>(
  horizontalpodautoscalers,
  {
    anyGenerateNameOnUpdate: true,
    defaults(scaler, { dialect }) {
      scaler.metadata = withoutRoundTrip(scaler.metadata, dialect) as typeof scaler.metadata;
      defaultScaler(scaler);
    },
    validate: (scaler, context, old) => validateScaler(scaler, context.gate, old),
    validateStatusUpdate: (scaler) => validateScalerStatus(scaler.status),
    // Like a round trip through version 1, in which 1.24 stores them.
    canonicalize(scaler) {
      const { spec, status } = scaler;
      scaler.spec = { ...spec, metrics: throughOlder(spec.metrics ?? []) };
      const { currentMetrics = [] } = status ?? {};
      if (status === undefined || currentMetrics.length === 0) return;
      scaler.status = { ...status, currentMetrics: currentMetrics.map((one) => newStatus(oldStatus(one))) };
    },
    cells: (scaler, context) => [
      scaler.metadata.name ?? '',
      `${scaler.spec.scaleTargetRef?.kind}/${scaler.spec.scaleTargetRef?.name}`,
      metricsText(scaler.spec.metrics ?? [], scaler.status?.currentMetrics ?? []),
      String(scaler.spec.minReplicas ?? '<unset>'),
      scaler.spec.maxReplicas,
      scaler.status?.currentReplicas ?? 0,
      age(scaler.metadata.creationTimestamp, context.now),
    ],
  },
);

/** Version 1 has a field for one metric, which comes last, and an annotation for the others. */
function throughOlder(metrics: readonly MetricSpec[]): MetricSpec[] {
  const others = metrics.filter((metric) => !isCPUUtilization(metric));
  const own = metrics.find(isCPUUtilization);
  return [...others, ...(own === undefined ? [] : [own])].map((metric) => newMetric(oldMetric(metric)));
}

function defaultScaler(scaler: Draft<HorizontalPodAutoscaler>): void {
  const { spec } = scaler;
  if ((spec.metrics ?? []).length === 0) {
    const target = { type: 'Utilization', averageUtilization: defaultCPUPercent };
    spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', target } }];
  }
  if (spec.behavior === undefined) return;
  spec.behavior.scaleUp ??= {};
  defaultRules(spec.behavior.scaleUp, [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ]);
  // Without its own window, scaling down uses the controller's setting.
  spec.behavior.scaleUp.stabilizationWindowSeconds ??= 0;
  spec.behavior.scaleDown ??= {};
  defaultRules(spec.behavior.scaleDown, [{ type: 'Percent', value: 100, periodSeconds: 15 }]);
}

/** Modifies its argument only where fields are absent, since complete rules may be shared with the stored object. */
function defaultRules(rules: Draft<HPAScalingRules>, policies: HPAScalingPolicy[]): void {
  rules.selectPolicy ??= 'Max';
  rules.policies ??= policies;
}

function metricsText(specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (specs.length === 0) return '<none>';
  const list = specs.slice(0, shownMetrics).map((spec, i) => metricText(spec, statuses[i]));
  const more = specs.length > shownMetrics ? ` + ${specs.length - shownMetrics} more...` : '';
  return `${list.join(', ')}${more}`;
}

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  const field = sourceFields.find((name) => spec[name] !== undefined);
  if (field === undefined) return '<unknown type>';
  const target = spec[field]?.target;
  const current: MetricValueStatus | undefined = status?.[field]?.current;
  if (target?.averageUtilization !== undefined) {
    const now = current?.averageUtilization;
    return `${now === undefined ? '<unknown>' : `${now}%`}/${target.averageUtilization}%`;
  }
  if (target?.averageValue !== undefined) {
    const suffix = field === 'external' || field === 'object' ? ' (avg)' : '';
    return `${current?.averageValue ?? '<unknown>'}/${target.averageValue}${suffix}`;
  }
  return `${current?.value ?? '<unknown>'}/${target?.value ?? '<auto>'}`;
}

function isCPUUtilization({ type, resource }: MetricSpec): boolean {
  return type === 'Resource' && resource?.name === 'cpu' && resource.target?.averageUtilization !== undefined;
}

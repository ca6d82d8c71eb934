/** What is particular to horizontal pod autoscalers. */
import { validateBehavior } from '#api/autoscaling/v2/horizontalpodautoscaler/behavior-validation.js';
import { validateSource } from '#api/autoscaling/v2/horizontalpodautoscaler/metric-validation.js';
import { validateScaleBounds } from '#api/autoscaling/v2/horizontalpodautoscaler/validation.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import type {
  HorizontalPodAutoscaler,
  HPAScalingRules,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '#api/autoscaling/v2/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkEnum, checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
/** Metrics shown in tables; more are only counted. */
const shownMetrics = 2;
const defaultCPUPercent = 80;
const sourceFields = ['object', 'pods', 'resource', 'containerResource', 'external'] as const;

export const horizontalPodAutoscalerStrategy: Strategy<HorizontalPodAutoscaler> = kindStrategy<HorizontalPodAutoscaler>(
  horizontalpodautoscalers,
  {
    defaults: (scaler) => defaultScaler(scaler),
    validate: (scaler, context, old) => [
      ...validateScaleBounds(scaler.spec, minimumReplicas(context, old)),
      ...(minimumReplicas(context, old) === 0 ? validateZero(scaler) : []),
      ...validateBehavior(scaler.spec.behavior, specPath.child('behavior')),
      ...(scaler.spec.metrics ?? []).flatMap((metric, i) => validateMetric(metric, specPath.child('metrics').index(i))),
    ],
    cells: (scaler, context) => [
      scaler.metadata.name ?? '',
      `${scaler.spec.scaleTargetRef?.kind}/${scaler.spec.scaleTargetRef?.name}`,
      metricsText(scaler.spec.metrics ?? [], scaler.status?.currentMetrics ?? []),
      String(scaler.spec.minReplicas ?? '<unset>'),
      String(scaler.spec.maxReplicas),
      String(scaler.status?.currentReplicas ?? 0),
      age(scaler.metadata.creationTimestamp, context.now),
    ],
  },
);

function defaultScaler(scaler: HorizontalPodAutoscaler): void {
  const { spec } = scaler;
  spec.minReplicas ??= 1;
  if ((spec.metrics ?? []).length === 0) {
    const target = { type: 'Utilization', averageUtilization: defaultCPUPercent };
    spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', target } }];
  }
  if (spec.behavior === undefined) return;
  spec.behavior.scaleUp = defaultRules(spec.behavior.scaleUp, 0, [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ]);
  // Without a window of its own, scaling down waits as long as the controller is configured to.
  spec.behavior.scaleDown = defaultRules(spec.behavior.scaleDown, undefined, [
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ]);
}

function defaultRules(
  rules: HPAScalingRules | undefined,
  windowSeconds: number | undefined,
  policies: NonNullable<HPAScalingRules['policies']>,
): HPAScalingRules {
  const result: HPAScalingRules = { selectPolicy: 'Max', policies, ...rules };
  if (windowSeconds !== undefined) result.stabilizationWindowSeconds ??= windowSeconds;
  return result;
}

/** No pods at all is for who can know from elsewhere that there is work again. */
function minimumReplicas(context: StrategyContext, old: HorizontalPodAutoscaler | undefined): 0 | 1 {
  return context.gate('HPAScaleToZero') || (old !== undefined && old.spec.minReplicas === 0) ? 0 : 1;
}

function validateZero({ spec }: HorizontalPodAutoscaler): FieldFailure[] {
  if (spec.minReplicas !== 0) return [];
  if (spec.metrics?.some((metric) => metric.type === 'Object' || metric.type === 'External')) return [];
  const text = 'must specify at least one Object or External metric to support scaling to zero replicas';
  return [forbiddenField(specPath.child('metrics'), text)];
}

function validateMetric(metric: MetricSpec, path: FieldPath): FieldFailure[] {
  const types = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'];
  const failures = checkEnum(path.child('type'), metric.type, types);
  if (failures.length > 0) return failures;
  const expected = `${metric.type.charAt(0).toLowerCase()}${metric.type.slice(1)}`;
  const set = sourceFields.filter((field) => metric[field] !== undefined);
  for (const field of set) {
    if (field === expected) continue;
    failures.push(forbiddenField(path.child(field), 'must populate the given metric source only'));
  }
  const source = set.find((field) => field === expected);
  if (source === undefined) {
    failures.push(required(path.child(expected), 'must populate information for the given metric source'));
    return failures;
  }
  failures.push(...validateSource(metric, path));
  return [...failures, ...validateTarget(metric[source]?.target, path.child(source, 'target'))];
}

function validateTarget(target: MetricTarget | undefined, path: FieldPath): FieldFailure[] {
  if (target === undefined) return [required(path, 'must specify a metric target')];
  const failures = checkOptionalEnum(path.child('type'), target.type, ['AverageValue', 'Utilization', 'Value']);
  if ((target.type ?? '') === '') failures.push(required(path.child('type'), 'must specify a metric target type'));
  const percent = target.averageUtilization;
  if (percent !== undefined && percent < 1) {
    failures.push(invalidValue(path.child('averageUtilization'), percent, 'must be greater than 0'));
  }
  return failures;
}

function metricsText(specs: MetricSpec[], statuses: MetricStatus[]): string {
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

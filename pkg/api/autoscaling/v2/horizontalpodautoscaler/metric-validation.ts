/** Rules of an autoscaler's metrics. */

import { declaration as schema } from '#api/autoscaling/v2/horizontalpodautoscaler.js';
import type {
  ContainerResourceMetricSource,
  ExternalMetricSource,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
  ObjectMetricSource,
  PodsMetricSource,
  ResourceMetricSource,
} from '#api/autoscaling/v2/types.gen.js';
import { goQuantityValue } from '#api/go/go-values.js';
import type { RuleGate } from '#api/strategy/feature-gates.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { quantitySign } from '#apimachinery/quantity.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import {
  addAll,
  forbiddenField,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';
import { checkMember, type MemberChecks, memberNames, membersOf } from '#apimachinery/validation/unions.js';

const checkUtilization = rangesOf(schema.types.MetricTarget, 'averageUtilization');

type Sources = Omit<MetricSpec, 'type'>;

const sourceNames = memberNames<Sources>(schema.types.MetricSpec);
const sourcesOf = membersOf<Sources>(schema.types.MetricSpec);
const sourceChecks: MemberChecks<Sources> = {
  object: validateObject,
  external: validateExternal,
  pods: validatePods,
  resource: validateResource,
  containerResource: validateContainer,
};

/** A metric must have a known type and exactly the source of that type. */
export function validateMetric(metric: MetricSpec, gate: RuleGate, path: FieldPath): FieldFailure[] {
  const type = metric.type ?? '';
  const failures: FieldFailure[] = [];
  if (type === '') failures.push(required(path.child('type'), 'must specify a metric source type'));
  if (!schema.enums.MetricSourceType.includes(type))
    failures.push(notSupported(path.child('type'), type, schema.enums.MetricSourceType));
  const present = sourcesOf(metric);
  const [first] = present;
  // Validates only the first of several sources, since the intended one is unknown.
  if (first !== undefined) addAll(failures, checkMember(metric, first, sourceChecks, path.child(first), undefined));
  const expected = sourceNames.find((field) => field.charAt(0).toUpperCase() + field.slice(1) === type);
  if (expected !== undefined && metric[expected] === undefined) {
    const gated = expected === 'containerResource' && !gate('HPAContainerMetrics');
    const suffix = gated ? ' (only allowed when HPAContainerMetrics feature is enabled)' : '';
    failures.push(required(path.child(expected), `must populate information for the given metric source${suffix}`));
  }
  if (present.length < 2) return failures;
  const others = present.filter((field) => field !== expected);
  return [
    ...failures,
    ...others.map((field) => forbiddenField(path.child(field), 'must populate the given metric source only')),
  ];
}

function validateObject({ describedObject, metric, target }: ObjectMetricSource, path: FieldPath): FieldFailure[] {
  return [
    ...validateReference(describedObject, path.child('describedObject')),
    ...validateIdentifier(metric, path.child('metric')),
    ...validateTarget(target, path.child('target')),
    ...needsValue(target, path.child('target'), 'must set either a target value or averageValue'),
  ];
}

function validateExternal({ metric, target }: ExternalMetricSource, path: FieldPath): FieldFailure[] {
  const at = path.child('target');
  const failures = [
    ...validateIdentifier(metric, path.child('metric')),
    ...validateTarget(target, at),
    ...needsValue(target, at, 'must set either a target value for metric or a per-pod target'),
  ];
  if (target?.value !== undefined && target.averageValue !== undefined) {
    const text = 'may not set both a target value for metric and a per-pod target';
    failures.push(forbiddenField(at.child('value'), text));
  }
  return failures;
}

function validatePods({ metric, target }: PodsMetricSource, path: FieldPath): FieldFailure[] {
  const failures = [
    ...validateIdentifier(metric, path.child('metric')),
    ...validateTarget(target, path.child('target')),
  ];
  if (target?.averageValue !== undefined) return failures;
  const text = 'must specify a positive target averageValue';
  return [...failures, required(path.child('target', 'averageValue'), text)];
}

function validateContainer(source: ContainerResourceMetricSource, path: FieldPath): FieldFailure[] {
  return [
    ...checkRequired(path.child('container'), source.container, 'must specify a container'),
    ...validateResource(source, path),
  ];
}

function validateResource({ name, target }: ResourceMetricSource, path: FieldPath): FieldFailure[] {
  const at = path.child('target');
  const failures = [
    ...checkRequired(path.child('name'), name, 'must specify a resource name'),
    ...validateTarget(target, at),
  ];
  const both = [target?.averageUtilization, target?.averageValue].filter((value) => value !== undefined).length;
  if (both === 0) {
    const text = 'must set either a target raw value or a target utilization';
    failures.push(required(at.child('averageUtilization'), text));
  }
  if (both === 2) {
    const text = 'may not set both a target raw value and a target utilization';
    failures.push(forbiddenField(at.child('averageValue'), text));
  }
  return failures;
}

function needsValue(target: MetricTarget | undefined, path: FieldPath, text: string): FieldFailure[] {
  if (target?.value !== undefined || target?.averageValue !== undefined) return [];
  return [required(path.child('averageValue'), text)];
}

function validateTarget(target: MetricTarget | undefined, path: FieldPath): FieldFailure[] {
  const { type = '' } = target ?? {};
  const failures: FieldFailure[] = [];
  if (type === '') failures.push(required(path.child('type'), 'must specify a metric target type'));
  if (!schema.enums.MetricTargetType.includes(type)) {
    failures.push(invalidValue(path.child('type'), type, 'must be either Utilization, Value, or AverageValue'));
  }
  for (const field of ['value', 'averageValue'] as const) {
    const value = target?.[field];
    if (value === undefined || quantitySign(value) > 0) continue;
    failures.push(invalidValue(path.child(field), goQuantityValue(value), 'must be positive'));
  }
  addAll(failures, checkUtilization(target, path));
  return failures;
}

function validateIdentifier(metric: MetricIdentifier | undefined, path: FieldPath): readonly FieldFailure[] {
  const name = metric?.name ?? '';
  if (name === '') return [required(path.child('name'), 'must specify a metric name')];
  return invalidEach(path.child('name'), name, pathSegmentErrors(name));
}

/** Kind and name of an object, which must be valid in a URL. */
export function validateReference(
  reference: { readonly kind?: string; readonly name?: string } | undefined,
  path: FieldPath,
): FieldFailure[] {
  return (['kind', 'name'] as const).flatMap((field) => {
    const value = reference?.[field] ?? '';
    return [
      ...checkRequired(path.child(field), value),
      ...invalidEach(path.child(field), value, pathSegmentErrors(value)),
    ];
  });
}

/** Rules of what each sort of metric must say besides its target's form. */
import type { MetricIdentifier, MetricSpec, MetricTarget } from '#api/autoscaling/v2/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { quantitySign } from '#apimachinery/quantity.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { forbiddenField, invalidEach, required } from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** `path` is the metric's; only the source of its type is looked into. */
export function validateSource(metric: MetricSpec, path: FieldPath): FieldFailure[] {
  switch (metric.type) {
    case 'Resource':
      return metric.resource === undefined ? [] : validateResource(metric.resource, path.child('resource'));
    case 'ContainerResource': {
      const at = path.child('containerResource');
      const source = metric.containerResource;
      if (source === undefined) return [];
      const failures = checkRequired(at.child('container'), source.container, 'must specify a container');
      return [...failures, ...validateResource(source, at)];
    }
    case 'Pods': {
      const at = path.child('pods');
      const failures = validateIdentifier(metric.pods?.metric, at.child('metric'));
      const target = metric.pods?.target;
      if (target === undefined || isPositive(target.averageValue)) return failures;
      return [...failures, required(at.child('target', 'averageValue'), 'must specify a positive target averageValue')];
    }
    case 'Object': {
      const at = path.child('object');
      const { describedObject, metric: id, target } = metric.object ?? {};
      return [
        ...validateReference(describedObject, at.child('describedObject')),
        ...validateIdentifier(id, at.child('metric')),
        ...needsOne(target, at.child('target'), 'must set either a target value or averageValue'),
      ];
    }
    default: {
      const at = path.child('external');
      const target = metric.external?.target;
      const failures = validateIdentifier(metric.external?.metric, at.child('metric'));
      const text = 'must set either a target value for metric or a per-pod target';
      failures.push(...needsOne(target, at.child('target'), text));
      if (target?.value !== undefined && target.averageValue !== undefined) {
        const both = 'may not set both a target value for metric and a per-pod target';
        failures.push(forbiddenField(at.child('target', 'value'), both));
      }
      return failures;
    }
  }
}

function isPositive(quantity: string | undefined): boolean {
  return quantity !== undefined && quantitySign(quantity) > 0;
}

function needsOne(target: MetricTarget | undefined, path: FieldPath, text: string): FieldFailure[] {
  if (target === undefined || target.value !== undefined || target.averageValue !== undefined) return [];
  return [required(path.child('averageValue'), text)];
}

function validateResource(source: { name?: string; target?: MetricTarget }, path: FieldPath): FieldFailure[] {
  const failures = checkRequired(path.child('name'), source.name, 'must specify a resource name');
  const { target } = source;
  if (target === undefined) return failures;
  const at = path.child('target');
  if (target.averageUtilization === undefined && target.averageValue === undefined) {
    const text = 'must set either a target raw value or a target utilization';
    failures.push(required(at.child('averageUtilization'), text));
  }
  if (target.averageUtilization !== undefined && target.averageValue !== undefined) {
    const text = 'may not set both a target raw value and a target utilization';
    failures.push(forbiddenField(at.child('averageValue'), text));
  }
  return failures;
}

function validateIdentifier(metric: MetricIdentifier | undefined, path: FieldPath): FieldFailure[] {
  const name = metric?.name ?? '';
  if (name === '') return [required(path.child('name'), 'must specify a metric name')];
  return invalidEach(path.child('name'), name, pathSegmentErrors(name));
}

function validateReference(ref: { kind?: string; name?: string } | undefined, path: FieldPath): FieldFailure[] {
  return (['kind', 'name'] as const).flatMap((field) => {
    const value = ref?.[field] ?? '';
    return [
      ...checkRequired(path.child(field), value),
      ...invalidEach(path.child(field), value, pathSegmentErrors(value)),
    ];
  });
}

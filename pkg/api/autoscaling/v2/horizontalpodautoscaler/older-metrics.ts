/**
 * Converts metrics between the flat form of older autoscaler versions, where the field that is set determines the
 * target's type, and the newer form with an explicit type.
 */
import type {
  CrossVersionObjectReference,
  MetricTarget,
  MetricValueStatus,
  MetricSpec as NewSpec,
  MetricStatus as NewStatus,
} from '#api/autoscaling/v2/types.gen.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import { quantitySign } from '#apimachinery/quantity.js';

/** A metric of the older versions, structurally equal to their declared types. */
interface Metric {
  metricName: string;
  selector?: LabelSelector;
}

interface ExternalMetric {
  metricName: string;
  metricSelector?: LabelSelector;
}

interface ResourceSource {
  name: string;
  targetAverageUtilization?: number;
  targetAverageValue?: string;
}

interface ResourceStatus {
  name: string;
  currentAverageUtilization?: number;
  currentAverageValue: string;
}

interface InContainer {
  container: string;
}

interface OlderMetricSpec {
  type: string;
  object?: Metric & { target: CrossVersionObjectReference; targetValue: string; averageValue?: string };
  external?: ExternalMetric & { targetValue?: string; targetAverageValue?: string };
  pods?: Metric & { targetAverageValue: string };
  resource?: ResourceSource;
  containerResource?: ResourceSource & InContainer;
}

interface OlderMetricStatus {
  type: string;
  object?: Metric & { target: CrossVersionObjectReference; currentValue: string; averageValue?: string };
  external?: ExternalMetric & { currentValue: string; currentAverageValue?: string };
  pods?: Metric & { currentAverageValue: string };
  resource?: ResourceStatus;
  containerResource?: ResourceStatus & InContainer;
}

/** A member, omitted if undefined. */
function some<K extends string, V>(name: K, value: V | undefined): { [key in K]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { [key in K]?: V };
}

/** Older versions write required values even if they are unset. */
const unset = '0';

function isSet(value: string | undefined): value is string {
  return value !== undefined && quantitySign(value) !== 0;
}

function target(type: string, values: Omit<MetricTarget, 'type'>): MetricTarget {
  const { value, averageValue, averageUtilization } = values;
  return {
    type,
    ...some('value', value),
    ...some('averageValue', averageValue),
    ...some('averageUtilization', averageUtilization),
  };
}

function current(values: MetricValueStatus): MetricValueStatus {
  const { value, averageValue, averageUtilization } = values;
  return {
    ...some('value', value),
    ...some('averageValue', averageValue),
    ...some('averageUtilization', averageUtilization),
  };
}

function metric(name: string, selector: LabelSelector | undefined) {
  return { name, ...some('selector', selector) };
}

interface ResourceTarget {
  readonly targetAverageUtilization?: number;
  readonly targetAverageValue?: string;
}

function resourceTarget({ targetAverageUtilization: utilization, targetAverageValue: value }: ResourceTarget) {
  const type = utilization === undefined ? 'AverageValue' : 'Utilization';
  return target(type, { ...some('averageValue', value), ...some('averageUtilization', utilization) });
}

function oldResourceTarget({ averageUtilization, averageValue }: MetricTarget): ResourceTarget {
  return { ...some('targetAverageUtilization', averageUtilization), ...some('targetAverageValue', averageValue) };
}

export function newMetric({ type, object, pods, resource, containerResource, external }: OlderMetricSpec): NewSpec {
  return {
    type,
    ...(object && {
      object: {
        describedObject: object.target,
        // A zero value counts as unset if there is an average.
        target: isSet(object.averageValue)
          ? target('AverageValue', {
              ...(isSet(object.targetValue) && { value: object.targetValue }),
              averageValue: object.averageValue,
            })
          : target('Value', { value: object.targetValue, ...some('averageValue', object.averageValue) }),
        metric: metric(object.metricName, object.selector),
      },
    }),
    ...(pods && {
      pods: {
        metric: metric(pods.metricName, pods.selector),
        target: target('AverageValue', { averageValue: pods.targetAverageValue }),
      },
    }),
    ...(resource && { resource: { name: resource.name, target: resourceTarget(resource) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        target: resourceTarget(containerResource),
        container: containerResource.container,
      },
    }),
    ...(external && {
      external: {
        metric: metric(external.metricName, external.metricSelector),
        target: target(external.targetValue === undefined ? 'AverageValue' : 'Value', {
          ...some('value', external.targetValue),
          ...some('averageValue', external.targetAverageValue),
        }),
      },
    }),
  };
}

export function oldMetric({ type, object, pods, resource, containerResource, external }: NewSpec): OlderMetricSpec {
  return {
    type,
    ...(object && {
      object: {
        target: object.describedObject,
        metricName: object.metric.name,
        targetValue: object.target.value ?? unset,
        ...some('selector', object.metric.selector),
        ...some('averageValue', object.target.averageValue),
      },
    }),
    ...(pods && {
      pods: {
        metricName: pods.metric.name,
        targetAverageValue: pods.target.averageValue ?? unset,
        ...some('selector', pods.metric.selector),
      },
    }),
    ...(resource && { resource: { name: resource.name, ...oldResourceTarget(resource.target) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        ...oldResourceTarget(containerResource.target),
        container: containerResource.container,
      },
    }),
    ...(external && {
      external: {
        metricName: external.metric.name,
        ...some('metricSelector', external.metric.selector),
        ...some('targetValue', external.target.value),
        ...some('targetAverageValue', external.target.averageValue),
      },
    }),
  };
}

export function newStatus({ type, object, pods, resource, containerResource, external }: OlderMetricStatus): NewStatus {
  return {
    type,
    ...(object && {
      object: {
        metric: metric(object.metricName, object.selector),
        current: current({ value: object.currentValue, ...some('averageValue', object.averageValue) }),
        describedObject: object.target,
      },
    }),
    ...(pods && {
      pods: {
        metric: metric(pods.metricName, pods.selector),
        current: current({ averageValue: pods.currentAverageValue }),
      },
    }),
    ...(resource && { resource: { name: resource.name, current: resourceCurrent(resource) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        current: resourceCurrent(containerResource),
        container: containerResource.container,
      },
    }),
    ...(external && {
      external: {
        metric: metric(external.metricName, external.metricSelector),
        current: current({ value: external.currentValue, ...some('averageValue', external.currentAverageValue) }),
      },
    }),
  };
}

interface ResourceCurrent {
  readonly currentAverageUtilization?: number;
  readonly currentAverageValue: string;
}

function resourceCurrent({ currentAverageUtilization: utilization, currentAverageValue }: ResourceCurrent) {
  return current({ averageValue: currentAverageValue, ...some('averageUtilization', utilization) });
}

function oldResourceCurrent({ averageUtilization, averageValue }: MetricValueStatus): ResourceCurrent {
  return { ...some('currentAverageUtilization', averageUtilization), currentAverageValue: averageValue ?? unset };
}

export function oldStatus({ type, object, pods, resource, containerResource, external }: NewStatus): OlderMetricStatus {
  return {
    type,
    ...(object && {
      object: {
        target: object.describedObject,
        metricName: object.metric.name,
        currentValue: object.current.value ?? unset,
        ...some('selector', object.metric.selector),
        ...some('averageValue', object.current.averageValue),
      },
    }),
    ...(pods && {
      pods: {
        metricName: pods.metric.name,
        currentAverageValue: pods.current.averageValue ?? unset,
        ...some('selector', pods.metric.selector),
      },
    }),
    ...(resource && { resource: { name: resource.name, ...oldResourceCurrent(resource.current) } }),
    ...(containerResource && {
      containerResource: {
        name: containerResource.name,
        ...oldResourceCurrent(containerResource.current),
        container: containerResource.container,
      },
    }),
    ...(external && {
      external: {
        metricName: external.metric.name,
        ...some('metricSelector', external.metric.selector),
        currentValue: external.current.value ?? unset,
        ...some('currentAverageValue', external.current.averageValue),
      },
    }),
  };
}

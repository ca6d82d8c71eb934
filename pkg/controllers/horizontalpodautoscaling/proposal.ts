/** Computes the replicas that one metric requires. Messages of release 1.24. Pure. */
import type { MetricSpec, MetricStatus, MetricTarget, MetricValueStatus } from '#api/autoscaling/v2/types.gen.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { milliValue, quantityFromMilliValue } from '#apimachinery/quantity.js';
import type { PodMetrics } from '#controllers/horizontalpodautoscaling/pods.js';
import {
  type Calculated,
  type ResourceName,
  replicasForAverage,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  type Target,
} from '#controllers/horizontalpodautoscaling/replicas.js';

/** The measurement of a metric: per pod, one value in thousandths, or the error. */
export type Sample = { readonly pods: PodMetrics } | { readonly milli: number } | { readonly error: unknown };

export interface Proposal {
  readonly kind: 'proposal';
  readonly replicas: number;
  /** The metric's name in messages. */
  readonly name: string;
  readonly status: MetricStatus;
}

export interface FailedReading {
  readonly kind: 'failure';
  /** For the event and the condition. */
  readonly reason: string;
  readonly message: string;
  /** The message in the summary of all metrics. */
  readonly summary: string;
}

interface Reading {
  readonly replicas: number;
  readonly name: string;
  readonly current: MetricValueStatus;
}

export function propose(spec: MetricSpec, sample: Sample, target: Target): Proposal | FailedReading {
  const { resource, containerResource, pods, object, external } = spec;
  if (spec.type === 'Resource' && resource !== undefined) {
    return attempt('FailedGetResourceMetric', same, () => {
      const reading = ofResource(resource, resource.target, sample, target);
      return { ...reading, status: { type: spec.type, resource: { name: resource.name, current: reading.current } } };
    });
  }
  if (spec.type === 'ContainerResource' && containerResource !== undefined) {
    const { name, container } = containerResource;
    return attempt('FailedGetContainerResourceMetric', same, () => {
      const reading = ofResource({ name, container }, containerResource.target, sample, target);
      const status = { name, container, current: reading.current };
      return { ...reading, status: { type: spec.type, containerResource: status } };
    });
  }
  if (spec.type === 'Pods' && pods !== undefined) {
    return attempt(
      'FailedGetPodsMetric',
      (message) => `failed to get pods metric value: ${message}`,
      () => {
        const targetMilli = milliValue(pods.target.averageValue ?? '0');
        const { replicas, milli } = replicasForAverage(target, podsIn(sample), undefined, targetMilli);
        const current = { averageValue: quantityFromMilliValue(milli) };
        return {
          replicas,
          name: `pods metric ${pods.metric.name}`,
          status: { type: spec.type, pods: { metric: pods.metric, current } },
        };
      },
    );
  }
  if (spec.type === 'Object' && object !== undefined) {
    const { describedObject, metric } = object;
    const share = object.target.type === 'AverageValue' ? `failed to get ${metric.name} object metric: ` : '';
    const summary = (message: string) => `failed to get object metric value: ${share}${message}`;
    return attempt('FailedGetObjectMetric', summary, () => {
      const { replicas, current, isShare } = ofValue('object', object.target, sample, target);
      const name = isShare ? externalName(metric) : `${describedObject.kind} metric ${metric.name}`;
      return { replicas, name, status: { type: spec.type, object: { describedObject, metric, current } } };
    });
  }
  if (spec.type === 'External' && external !== undefined) {
    const { metric } = external;
    const isShare = external.target.averageValue !== undefined;
    const what = isShare ? `${metric.name} external metric` : `external metric ${metric.name}`;
    return attempt(
      'FailedGetExternalMetric',
      (message) => `failed to get ${what}: ${message}`,
      () => {
        const { replicas, current } = ofValue('external', external.target, sample, target);
        return { replicas, name: externalName(metric), status: { type: spec.type, external: { metric, current } } };
      },
    );
  }
  return attempt('InvalidMetricSourceType', same, () => {
    throw new Error(`unknown metric source type "${spec.type}"`);
  });
}

const same = (message: string): string => message;

function attempt(
  reason: string,
  summary: (message: string) => string,
  read: () => Omit<Proposal, 'kind'>,
): Proposal | FailedReading {
  try {
    const { replicas, name, status } = read();
    return { kind: 'proposal', replicas, name, status };
  } catch (error) {
    const message = messageOf(error);
    return { kind: 'failure', reason, message, summary: summary(message) };
  }
}

function ofResource(resource: ResourceName, goal: MetricTarget, sample: Sample, target: Target): Reading {
  const { averageValue, averageUtilization } = goal;
  const { name } = resource;
  if (averageValue === undefined && averageUtilization === undefined) {
    throw new Error('invalid resource metric source: neither a utilization target nor a value target was set');
  }
  try {
    if (averageValue !== undefined) {
      const { replicas, milli } = replicasForAverage(target, podsIn(sample), name, milliValue(averageValue));
      return { replicas, name: `${name} resource`, current: { averageValue: quantityFromMilliValue(milli) } };
    }
    const { replicas, percent, milli } = replicasForUtilization(
      target,
      podsIn(sample),
      resource,
      averageUtilization ?? 0,
    );
    return {
      replicas,
      name: `${name} resource utilization (percentage of request)`,
      current: { averageUtilization: percent, averageValue: quantityFromMilliValue(milli) },
    };
  } catch (error) {
    throw new Error(`failed to get ${name} utilization: ${messageOf(error)}`, { cause: error });
  }
}

/** Reads a metric with one value: compared as a whole, or divided by the number of pods. */
function ofValue(
  source: 'object' | 'external',
  { type, value, averageValue }: MetricTarget,
  sample: Sample,
  target: Target,
): Omit<Reading, 'name'> & { readonly isShare: boolean } {
  // For objects the target's type decides; for external metrics an average has priority.
  const isShare = averageValue !== undefined && (source === 'external' || type === 'AverageValue');
  const goal = isShare ? averageValue : value;
  if (goal === undefined) {
    throw new Error(`invalid ${source} metric source: neither a value target nor an average value target was set`);
  }
  const milli = milliIn(sample);
  const calculate = isShare ? replicasForShare : replicasForValue;
  const result: Calculated = calculate(target, milli, milliValue(goal));
  const shown = quantityFromMilliValue(result.milli);
  return { replicas: result.replicas, isShare, current: isShare ? { averageValue: shown } : { value: shown } };
}

function externalName({ name, selector }: { name: string; selector?: Parameters<typeof goSelectorText>[0] }): string {
  return `external metric ${name}(${goSelectorText(selector)})`;
}

function podsIn(sample: Sample): PodMetrics {
  if ('pods' in sample) return sample.pods;
  throw 'error' in sample ? sample.error : new TypeError('unexpected type of sample');
}

function milliIn(sample: Sample): number {
  if ('milli' in sample) return sample.milli;
  throw 'error' in sample ? sample.error : new TypeError('unexpected type of sample');
}

/** A selector in Go syntax, as in messages of 1.24. */
export function goSelectorText(selector: LabelSelector | undefined): string {
  if (selector === undefined) return 'nil';
  const labels = Object.entries(selector.matchLabels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`);
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  return (
    `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`
  );
}

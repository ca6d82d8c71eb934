/**
 * Converts autoscalers of version 1, which support only the CPU utilization of pods. Annotations carry all other
 * fields, so that clients of version 1 lose nothing.
 */

import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  MetricSpec,
  MetricStatus,
} from '#api/autoscaling/v1/types.gen.js';
import {
  annotationNames,
  behaviorOf,
  behaviorText,
  listOf,
  listText,
  withoutRoundTrip,
  withRoundTrip,
} from '#api/autoscaling/v2/horizontalpodautoscaler/annotation-fields.js';
import {
  newMetric,
  newStatus,
  oldMetric,
  oldStatus,
} from '#api/autoscaling/v2/horizontalpodautoscaler/older-metrics.js';
import { defaultCPUPercent } from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import type {
  HorizontalPodAutoscaler as Stored,
  MetricSpec as StoredSpec,
  MetricStatus as StoredStatus,
} from '#api/autoscaling/v2/types.gen.js';
import type { Conversion } from '#api/strategy/conversion.js';

const isProcessorUse = ({ type, resource }: StoredSpec): boolean =>
  type === 'Resource' && resource?.name === 'cpu' && resource.target.averageUtilization !== undefined;

const isProcessorStatus = ({ type, resource }: StoredStatus): boolean =>
  type === 'Resource' && resource?.name === 'cpu' && resource.current.averageUtilization !== undefined;

export const autoscalerV1Conversion: Conversion<HorizontalPodAutoscaler, Stored> = {
  fromStored({ metadata, spec, status, ...rest }, { dialect }) {
    const names = annotationNames(dialect);
    const { metrics = [], behavior, ...common } = spec;
    const processor = metrics.find(isProcessorUse);
    const utilization = processor?.resource?.target.averageUtilization;
    const { currentMetrics = [], conditions = [], ...statusRest } = status ?? { desiredReplicas: 0 };
    const current = currentMetrics.find(isProcessorStatus)?.resource?.current.averageUtilization;
    const others = metrics.filter((metric) => metric !== processor);
    const carried = {
      ...listText(names.metrics, others.map(oldMetric)),
      ...behaviorText(behavior, dialect),
      // Includes the raw value of the CPU metric, which has no other field.
      ...listText(names.currentMetrics, currentMetrics.map(oldStatus)),
      ...listText(names.conditions, conditions),
    };
    return {
      ...rest,
      apiVersion: dialect.apiVersion('autoscaling', 'v1'),
      metadata: withRoundTrip(metadata, carried, dialect),
      spec: { ...common, ...(utilization !== undefined && { targetCPUUtilizationPercentage: utilization }) },
      ...(status && {
        status: {
          ...statusRest,
          currentReplicas: statusRest.currentReplicas ?? 0,
          ...(current !== undefined && { currentCPUUtilizationPercentage: current }),
        },
      }),
    };
  },
  toStored({ metadata, spec, status, ...rest }, scheme) {
    const { dialect } = scheme;
    const names = annotationNames(dialect);
    const { annotations = {} } = metadata;
    const { targetCPUUtilizationPercentage: targetUtilization, ...common } = spec;
    const { currentCPUUtilizationPercentage: current, ...statusRest } = status ?? {};
    const others = listOf<MetricSpec>(annotations[names.metrics], 'autoscaling.v1.MetricSpec', scheme) ?? [];
    const metrics = [
      ...(targetUtilization === undefined ? [] : [processorUse(targetUtilization)]),
      ...others.map(newMetric),
    ];
    const behavior = behaviorOf(annotations, scheme);
    const carried = listOf<MetricStatus>(annotations[names.currentMetrics], 'autoscaling.v1.MetricStatus', scheme);
    const currentMetrics = carried?.map(newStatus) ?? (current === undefined ? [] : [processorStatus(current)]);
    const conditionType = 'autoscaling.v1.HorizontalPodAutoscalerCondition';
    const conditions = listOf<HorizontalPodAutoscalerCondition>(annotations[names.conditions], conditionType, scheme);
    return {
      ...rest,
      apiVersion: dialect.apiVersion('autoscaling', 'v2'),
      metadata: withoutRoundTrip(metadata, dialect),
      spec: {
        ...common,
        // Without metrics it scales by CPU.
        metrics: metrics.length === 0 ? [processorUse(defaultCPUPercent)] : metrics,
        ...(behavior && { behavior }),
      },
      ...(status && {
        status: {
          desiredReplicas: 0,
          ...statusRest,
          ...(currentMetrics.length > 0 && { currentMetrics }),
          ...(conditions && conditions.length > 0 && { conditions }),
        },
      }),
    };
  },
};

function processorUse(averageUtilization: number): StoredSpec {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } };
}

function processorStatus(averageUtilization: number): StoredStatus {
  return { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization } } };
}

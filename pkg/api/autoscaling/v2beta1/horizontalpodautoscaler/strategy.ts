import {
  behaviorOf,
  behaviorText,
  withoutRoundTrip,
  withRoundTrip,
} from '#api/autoscaling/v2/horizontalpodautoscaler/annotation-fields.js';
import {
  newMetric,
  newStatus,
  oldMetric,
  oldStatus,
} from '#api/autoscaling/v2/horizontalpodautoscaler/older-metrics.js';
import {
  defaultCPUPercent,
  horizontalPodAutoscalerStrategy,
} from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import type { HorizontalPodAutoscaler as Stored } from '#api/autoscaling/v2/types.gen.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2beta1/resources.gen.js';
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v2beta1/types.gen.js';
import type { Conversion } from '#api/strategy/conversion.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

/** Version v2beta1 has flat metrics, and the behavior in an annotation. */
const autoscalerV2beta1Conversion: Conversion<HorizontalPodAutoscaler, Stored> = {
  toStored({ metadata, spec, status, ...rest }, scheme) {
    const { dialect } = scheme;
    const { metrics, ...common } = spec;
    const { currentMetrics, ...statusRest } = status ?? {};
    const behavior = behaviorOf(metadata.annotations, scheme);
    return {
      ...rest,
      apiVersion: dialect.apiVersion('autoscaling', 'v2'),
      metadata: withoutRoundTrip(metadata, dialect),
      spec: {
        ...common,
        ...(metrics && { metrics: metrics.map(newMetric) }),
        ...(behavior && { behavior }),
      },
      ...(status && {
        status: {
          desiredReplicas: 0,
          ...statusRest,
          ...(currentMetrics && { currentMetrics: currentMetrics.map(newStatus) }),
        },
      }),
    };
  },
  fromStored({ metadata, spec, status, ...rest }, { dialect }) {
    const { metrics, behavior, ...common } = spec;
    const { currentMetrics, ...statusRest } = status ?? {};
    return {
      ...rest,
      apiVersion: dialect.apiVersion('autoscaling', 'v2beta1'),
      metadata: withRoundTrip(metadata, behaviorText(behavior, dialect), dialect),
      spec: { ...common, ...(metrics && { metrics: metrics.map(oldMetric) }) },
      ...(status && {
        status: {
          currentReplicas: 0,
          desiredReplicas: 0,
          ...statusRest,
          ...(currentMetrics && { currentMetrics: currentMetrics.map(oldStatus) }),
        },
      }),
    };
  },
};

export const horizontalPodAutoscalerV2beta1Strategy: Strategy<HorizontalPodAutoscaler> = convertedStrategy<
  HorizontalPodAutoscaler,
  Stored
>(horizontalpodautoscalers, {
  stored: horizontalPodAutoscalerStrategy,
  conversion: autoscalerV2beta1Conversion,
  defaults({ spec }) {
    if ((spec.metrics ?? []).length === 0) {
      spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: defaultCPUPercent } }];
    }
  },
});

/** Version v2beta2 differs from v2 only in fields that are written even if zero. */

import { horizontalPodAutoscalerStrategy } from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import type { HorizontalPodAutoscaler as Stored } from '#api/autoscaling/v2/types.gen.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2beta2/resources.gen.js';
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v2beta2/types.gen.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

const { defaults } = horizontalPodAutoscalerStrategy;

export const horizontalPodAutoscalerV2beta2Strategy: Strategy<HorizontalPodAutoscaler> = convertedStrategy<
  HorizontalPodAutoscaler,
  Stored
>(horizontalpodautoscalers, {
  stored: horizontalPodAutoscalerStrategy,
  conversion: {
    toStored: (object, { dialect }) => ({ ...object, apiVersion: dialect.apiVersion('autoscaling', 'v2') }),
    fromStored: ({ status, ...object }, { dialect }) => ({
      ...object,
      apiVersion: dialect.apiVersion('autoscaling', 'v2beta2'),
      ...(status && { status: { ...status, currentReplicas: status.currentReplicas ?? 0 } }),
    }),
  },
  ...(defaults && { defaults: (object, context) => defaults(object, context) }),
});

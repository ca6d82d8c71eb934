import { autoscalerV1Conversion } from '#api/autoscaling/v1/horizontalpodautoscaler/conversion.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v1/resources.gen.js';
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v1/types.gen.js';
import { horizontalPodAutoscalerStrategy } from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import type { HorizontalPodAutoscaler as Stored } from '#api/autoscaling/v2/types.gen.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const horizontalPodAutoscalerV1Strategy: Strategy<HorizontalPodAutoscaler> = convertedStrategy<
  HorizontalPodAutoscaler,
  Stored
>(horizontalpodautoscalers, {
  stored: horizontalPodAutoscalerStrategy,
  conversion: autoscalerV1Conversion,
});

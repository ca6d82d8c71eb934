/** What is particular to horizontal pod autoscalers of version 2beta1. */

import {
  defaultCPUPercent,
  horizontalPodAutoscalerStrategy,
} from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import type { HorizontalPodAutoscaler as Stored } from '#api/autoscaling/v2/types.gen.js';
import { autoscalerV2beta1Conversion } from '#api/autoscaling/v2beta1/horizontalpodautoscaler/conversion.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2beta1/resources.gen.js';
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v2beta1/types.gen.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

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

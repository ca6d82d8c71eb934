import { declaration as first } from '#api/autoscaling/v1/horizontalpodautoscaler.js';
import { declaration as newer } from '#api/autoscaling/v2beta2/horizontalpodautoscaler.js';
import { derivedVersion } from '#apimachinery/schema/derived-version.js';
import { required } from '#apimachinery/schema/language.js';

const { HorizontalPodAutoscalerSpec: spec, HorizontalPodAutoscalerStatus: status } = newer.types;

export const declaration = derivedVersion(first, {
  storedAs: { version: 'v2' },
  deprecation: { since: '1.22', until: '1.25', replacement: 'v2' },
  without: ['Scale', 'ScaleSpec', 'ScaleStatus'],
  granular: ['CrossVersionObjectReference'],
  fields: {
    ContainerResourceMetricSource: { container: required(4, 'string', 'Name of the container.') },
    HorizontalPodAutoscalerSpec: { targetCPUUtilizationPercentage: undefined, ...spec?.fields, behavior: undefined },
    HorizontalPodAutoscalerStatus: { currentCPUUtilizationPercentage: undefined, ...status?.fields },
  },
});

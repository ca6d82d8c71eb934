import { declaration as first } from '#api/autoscaling/v1/horizontalpodautoscaler.js';
import { declaration as newer } from '#api/autoscaling/v2beta2/horizontalpodautoscaler.js';
import { anotherVersion } from '#apimachinery/schema/another-version.js';
import type { KindDeclaration } from '#apimachinery/schema/schema.js';

const { behavior: _, ...spec } = newer.types['HorizontalPodAutoscalerSpec'] ?? {};

export const declaration: KindDeclaration = anotherVersion(first, {
  storedAs: { version: 'v2' },
  deprecation: { since: '1.22', until: '1.25', replacement: 'v2' },
  without: ['Scale', 'ScaleSpec', 'ScaleStatus'],
  types: {
    ContainerResourceMetricSource: {
      ...first.types['ContainerResourceMetricSource'],
      container: { number: 4, type: 'string', doc: 'Name of the container.' },
    },
    HorizontalPodAutoscalerSpec: spec,
    HorizontalPodAutoscalerStatus: newer.types['HorizontalPodAutoscalerStatus'] ?? {},
  },
});

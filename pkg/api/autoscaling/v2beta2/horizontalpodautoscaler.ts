import { declaration as stable } from '#api/autoscaling/v2/horizontalpodautoscaler.js';
import { derivedVersion } from '#apimachinery/schema/derived-version.js';
import { optional, required } from '#apimachinery/schema/language.js';
import type { FieldDeclaration } from '#apimachinery/schema/schema.js';

/** A list without merge rules. */
function plain(name: string, list: string): Record<string, FieldDeclaration> {
  const { listType: _, ...field } = { ...stable.types[name]?.fields[list] } as FieldDeclaration;
  return { [list]: field };
}

export const declaration = derivedVersion(stable, {
  storedAs: { version: 'v2' },
  deprecation: { since: '1.23', until: '1.26', replacement: 'v2' },
  fields: {
    HPAScalingRules: plain('HPAScalingRules', 'policies'),
    HorizontalPodAutoscalerSpec: plain('HorizontalPodAutoscalerSpec', 'metrics'),
    HorizontalPodAutoscalerStatus: {
      ...plain('HorizontalPodAutoscalerStatus', 'currentMetrics'),
      currentReplicas: required(3, 'int32', 'Number of pods.'),
      conditions: optional(6, 'HorizontalPodAutoscalerCondition[]', { omitempty: false }, 'Latest observations of single aspects of the state, one per condition type.'),
    },
  },
});

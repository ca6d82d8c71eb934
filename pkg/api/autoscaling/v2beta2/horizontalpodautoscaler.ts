import { declaration as stable } from '#api/autoscaling/v2/horizontalpodautoscaler.js';
import { anotherVersion } from '#apimachinery/schema/another-version.js';
import type { FieldDeclaration, KindDeclaration, MessageDeclaration } from '#apimachinery/schema/schema.js';

/** A message whose list says nothing of how it is merged. */
function plain(name: string, list: string): MessageDeclaration {
  const { [list]: field, ...others } = stable.types[name] ?? {};
  const { listType: _, ...rest } = field as FieldDeclaration;
  return { ...others, [list]: rest };
}

export const declaration: KindDeclaration = anotherVersion(stable, {
  storedAs: { version: 'v2' },
  deprecation: { since: '1.23', until: '1.26', replacement: 'v2' },
  types: {
    HPAScalingRules: plain('HPAScalingRules', 'policies'),
    HorizontalPodAutoscalerSpec: plain('HorizontalPodAutoscalerSpec', 'metrics'),
    HorizontalPodAutoscalerStatus: {
      ...plain('HorizontalPodAutoscalerStatus', 'currentMetrics'),
      currentReplicas: { number: 3, type: 'int32', doc: 'Number of pods.' },
      conditions: {
        number: 6,
        type: 'HorizontalPodAutoscalerCondition',
        repeated: true,
        optional: true,
        doc: 'Latest observations of single aspects of the state, one per condition type.',
      },
    },
  },
});

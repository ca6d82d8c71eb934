/** What is particular to horizontal pod autoscalers of the first version. */
import { autoscalerToV2 } from '#api/autoscaling/v1/horizontalpodautoscaler/conversion.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v1/resources.gen.js';
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v1/types.gen.js';
import { validateScaler, validateScalerStatus } from '#api/autoscaling/v2/horizontalpodautoscaler/validation.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age } from '#api/table/age.js';

export const horizontalPodAutoscalerV1Strategy: Strategy<HorizontalPodAutoscaler> =
  kindStrategy<HorizontalPodAutoscaler>(horizontalpodautoscalers, {
    defaults(scaler) {
      scaler.spec.minReplicas ??= 1;
    },
    // In the form that is stored, which also names the fields: the metrics of annotations are looked at as well.
    validate: (scaler, { dialect, gate }, old) =>
      validateScaler(autoscalerToV2(scaler, dialect), gate, old && autoscalerToV2(old, dialect)),
    validateStatusUpdate: (scaler) => validateScalerStatus(scaler.status),
    cells: (scaler, context) => [
      scaler.metadata.name ?? '',
      `${scaler.spec.scaleTargetRef?.kind}/${scaler.spec.scaleTargetRef?.name}`,
      targetsText(scaler),
      String(scaler.spec.minReplicas ?? '<unset>'),
      String(scaler.spec.maxReplicas),
      String(scaler.status?.currentReplicas ?? 0),
      age(scaler.metadata.creationTimestamp, context.now),
    ],
  });

function targetsText(scaler: HorizontalPodAutoscaler): string {
  const target = scaler.spec.targetCPUUtilizationPercentage;
  if (target === undefined) return '<none>';
  const current = scaler.status?.currentCPUUtilizationPercentage;
  return `${current === undefined ? '<unknown>' : `${current}%`}/${target}%`;
}

import t from 'tap';
import { autoscalerFromV2, autoscalerToV2 } from '#api/autoscaling/v1/horizontalpodautoscaler/conversion.js';
import type { HorizontalPodAutoscaler as V2 } from '#api/autoscaling/v2/types.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';

const memory = {
  type: 'Resource',
  resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
};
const processor = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
};

const stored: V2 = {
  kind: 'HorizontalPodAutoscaler',
  apiVersion: 'autoscaling/v2',
  metadata: { name: 'a', annotations: { mine: 'kept' } },
  spec: {
    scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
    maxReplicas: 5,
    metrics: [processor, memory],
    behavior: { scaleDown: { stabilizationWindowSeconds: 10 } },
  },
  status: {
    currentReplicas: 2,
    desiredReplicas: 3,
    currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 55 } } }],
    conditions: [{ type: 'AbleToScale', status: 'True' }],
  },
};

t.test('version 1 shows the processor and carries the rest', async (t) => {
  const before = structuredClone(stored);
  const view = autoscalerFromV2(stored, dialect);
  t.match(view, {
    apiVersion: 'autoscaling/v1',
    spec: { maxReplicas: 5, targetCPUUtilizationPercentage: 70 },
    status: { currentReplicas: 2, currentCPUUtilizationPercentage: 55 },
    metadata: { annotations: { mine: 'kept', 'autoscaling.alpha.kubernetes.io/metrics': JSON.stringify([memory]) } },
  });
  t.notOk('metrics' in view.spec);
  t.same(autoscalerToV2(view, dialect), stored, 'nothing is lost on the way back');
  t.same(stored, before, 'the stored form is untouched');
});

t.test('what version 1 changes arrives', async (t) => {
  const view = autoscalerFromV2(stored, dialect);
  const changed = { ...view, spec: { ...view.spec, targetCPUUtilizationPercentage: 90 } };
  t.match(autoscalerToV2(changed, dialect).spec.metrics, [
    { resource: { name: 'cpu', target: { averageUtilization: 90 } } },
    { resource: { name: 'memory' } },
  ]);
  const { targetCPUUtilizationPercentage: _gone, ...without } = view.spec;
  t.same(autoscalerToV2({ ...view, spec: without }, dialect).spec.metrics, [memory]);
});

t.test('unreadable annotations count as absent', async (t) => {
  const view = autoscalerFromV2({ ...stored, spec: { ...stored.spec, metrics: [], behavior: {} } }, dialect);
  for (const bad of ['{', '7', '{}']) {
    const annotations = { 'autoscaling.alpha.kubernetes.io/metrics': bad };
    const { metrics } = autoscalerToV2({ ...view, metadata: { name: 'a', annotations } }, dialect).spec;
    t.match(metrics, [{ resource: { name: 'cpu', target: { averageUtilization: 80 } } }], bad);
  }
});

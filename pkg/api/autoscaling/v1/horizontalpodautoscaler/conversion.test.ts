import t from 'tap';
import { autoscalerV1Conversion } from '#api/autoscaling/v1/horizontalpodautoscaler/conversion.js';
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';

const memory = {
  type: 'Resource',
  resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
};
const processor = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
};

const scheme = schemeFor(kubernetesDialect);
const { fromStored, toStored } = autoscalerV1Conversion;

const stored: HorizontalPodAutoscaler = {
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
    currentMetrics: [
      { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 55, averageValue: '110m' } } },
    ],
    conditions: [{ type: 'AbleToScale', status: 'True' }],
  },
};

const annotation = (name: string) => `autoscaling.alpha.kubernetes.io/${name}`;

t.test('version 1 has a field for CPU and annotations of 1.24 for all other fields', async (t) => {
  const before = structuredClone(stored);
  const view = fromStored(stored, scheme);
  t.match(view, {
    apiVersion: 'autoscaling/v1',
    spec: { maxReplicas: 5, targetCPUUtilizationPercentage: 70 },
    status: { currentReplicas: 2, currentCPUUtilizationPercentage: 55 },
  });
  t.strictSame(view.metadata.annotations, {
    mine: 'kept',
    [annotation('metrics')]: '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]',
    [annotation('behavior')]:
      '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":10,"SelectPolicy":null,"Policies":null}}',
    [annotation('current-metrics')]:
      '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":55,"currentAverageValue":"110m"}}]',
    [annotation('conditions')]: '[{"type":"AbleToScale","status":"True"}]',
  });
  t.notOk('metrics' in view.spec);
  t.same(toStored(view, scheme), stored, 'the round trip loses nothing');
  t.same(stored, before, 'the stored form is not modified');
});

t.test('changes through version 1 reach the stored form', async (t) => {
  const view = fromStored(stored, scheme);
  const changed = { ...view, spec: { ...view.spec, targetCPUUtilizationPercentage: 90 } };
  t.match(toStored(changed, scheme).spec.metrics, [
    { resource: { name: 'cpu', target: { averageUtilization: 90 } } },
    { resource: { name: 'memory' } },
  ]);
  const { targetCPUUtilizationPercentage: _gone, ...without } = view.spec;
  t.same(toStored({ ...view, spec: without }, scheme).spec.metrics, [memory]);
});

t.test('unreadable annotations count as absent', async (t) => {
  const view = fromStored({ ...stored, spec: { ...stored.spec, metrics: [], behavior: {} } }, scheme);
  for (const bad of ['{', '7', '{}', '[7]', '[{"type":7}]', '[{"resource":{"targetAverageValue":"x"}}]']) {
    const annotations = {
      [annotation('metrics')]: bad,
      [annotation('behavior')]: bad === '{}' ? '{"ScaleUp":{"Policies":"all"}}' : bad,
      [annotation('conditions')]: '[{"type":7}]',
    };
    const { spec, status, metadata } = toStored(
      { ...view, status: { currentReplicas: 0, desiredReplicas: 0 }, metadata: { name: 'a', annotations } },
      scheme,
    );
    t.match(spec.metrics, [{ resource: { name: 'cpu', target: { averageUtilization: 80 } } }], bad);
    t.equal(spec.behavior, undefined);
    t.equal(status?.conditions, undefined);
    t.strictSame(metadata, { name: 'a' }, 'annotations are not stored');
  }
});

t.test('annotations with Go field names are read', async (t) => {
  const behavior = { ScaleUp: { Policies: [{ Type: 'Pods', Value: 4, PeriodSeconds: 15 }], SelectPolicy: 'Max' } };
  const annotations = { [annotation('behavior')]: JSON.stringify(behavior) };
  const view = {
    metadata: { name: 'a', annotations },
    spec: { scaleTargetRef: { kind: 'D', name: 'd' }, maxReplicas: 1 },
  };
  t.strictSame(toStored(view, scheme).spec.behavior, {
    scaleUp: { policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }], selectPolicy: 'Max' },
  });
});

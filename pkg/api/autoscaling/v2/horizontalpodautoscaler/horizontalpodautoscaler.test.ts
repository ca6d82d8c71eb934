import t from 'tap';
import { horizontalPodAutoscalerV1Strategy } from '#api/autoscaling/v1/horizontalpodautoscaler/strategy.js';
import { horizontalPodAutoscalerStrategy as strategy } from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.js';
import { created, createFailures, type Draft, testContext, withField } from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';

const base: Draft = {
  metadata: { name: 'h', namespace: 'ns', creationTimestamp: '2024-05-31T23:00:00Z' },
  spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 5 },
};

t.test('autoscalers', (t) => {
  const bounds: [string, unknown, ...string[]][] = [
    [
      'spec.maxReplicas',
      undefined,
      'spec.maxReplicas: Invalid value: 0: must be greater than 0',
      'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
    ],
    [
      'spec.minReplicas',
      0,
      'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
      'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
    ],
    ['spec.minReplicas', 6, 'spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`'],
    ['spec.scaleTargetRef', {}, 'spec.scaleTargetRef.kind: Required value', 'spec.scaleTargetRef.name: Required value'],
  ];
  for (const kind of [strategy, horizontalPodAutoscalerV1Strategy]) {
    const check = kind as typeof strategy;
    t.strictSame(createFailures(check, base), []);
    for (const [path, value, ...want] of bounds)
      t.strictSame(createFailures(check, withField(base, path, value)), want, path);
  }
  const rows: [unknown, ...string[]][] = [
    [
      [{ type: 'X' }],
      'spec.metrics[0].type: Unsupported value: "X": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
    [
      [{ type: 'Resource' }],
      'spec.metrics[0].resource: Required value: must populate information for the given metric source',
    ],
    [
      [{ type: 'Resource', resource: { name: 'cpu' } }],
      'spec.metrics[0].resource.target.type: Required value: must specify a metric target type',
      'spec.metrics[0].resource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
      'spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
    ],
  ];
  for (const [metrics, ...want] of rows)
    t.strictSame(createFailures(strategy, withField(base, 'spec.metrics', metrics)), want);
  t.end();
});

t.test('defaults and cells', (t) => {
  const object = created(strategy, base);
  t.match(object, {
    spec: {
      minReplicas: 1,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } }],
    },
  });
  t.strictSame(strategy.cells?.(object as never, testContext), [
    'h',
    'Deployment/d',
    '<unknown>/80%',
    '1',
    5,
    0,
    '60m',
  ]);
  const scaled = {
    ...object,
    status: {
      currentReplicas: 2,
      currentMetrics: [{ type: 'Resource', resource: { current: { averageUtilization: 35 } } }],
    },
  };
  t.match(strategy.cells?.(scaled as never, testContext), { 2: '35%/80%', 5: '2' });
  const behavior = created(strategy, withField(base, 'spec.behavior', { scaleDown: { selectPolicy: 'Min' } }));
  t.match(behavior, {
    spec: {
      behavior: { scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: 'Max' }, scaleDown: { selectPolicy: 'Min' } },
    },
  });
  t.end();
});

t.test('the stored form equals a round trip through version 1', async (t) => {
  const cpu = (value: number) => ({
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: value } },
  });
  const pods = { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '1' } };
  const scaler = copyJson(
    created(
      strategy,
      withField(base, 'spec.metrics', [cpu(1), cpu(2), { type: 'Pods', pods }]),
    ) as HorizontalPodAutoscaler,
  );
  const resource = { name: 'memory', current: { averageUtilization: 3 } };
  scaler.status = { desiredReplicas: 0, currentMetrics: [{ type: 'Resource', resource }] };
  strategy.canonicalize?.(scaler, testContext);
  t.strictSame(scaler.spec.metrics, [{ type: 'Pods', pods: { metric: { name: 'm' }, target: pods.target } }, cpu(1)]);
  t.strictSame(scaler.status.currentMetrics?.[0]?.resource?.current, { averageValue: '0', averageUtilization: 3 });
});

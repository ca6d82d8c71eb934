import t from 'tap';
import { horizontalPodAutoscalerStrategy } from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { createFailures, type Draft, withField } from '#api/testing/strategy-table.js';

const strategy = horizontalPodAutoscalerStrategy as unknown as Strategy;

const base: Draft = {
  metadata: { name: 'a', namespace: 'b' },
  spec: {
    scaleTargetRef: { kind: 'Deployment', name: 'd' },
    maxReplicas: 5,
    behavior: { scaleUp: {}, scaleDown: {} },
  },
};
const policy = { type: 'Pods', value: 1, periodSeconds: 1 };
const metric = (type: string, field: string, source: object) => [{ type, [field]: source }];
const value = { type: 'Value', value: '1' };

t.test('behavior and metrics out of bounds are refused', (t) => {
  t.strictSame(createFailures(strategy, base), []);
  const rows: [path: string, value: unknown, failure: RegExp][] = [
    ['spec.behavior.scaleUp.stabilizationWindowSeconds', -1, /scaleUp.stabilizationWindowSeconds: .*or equal to zero/],
    ['spec.behavior.scaleUp.stabilizationWindowSeconds', 3601, /must be less than or equal to 3600/],
    ['spec.behavior.scaleDown.selectPolicy', 'Some', /scaleDown.selectPolicy: Unsupported/],
    ['spec.behavior.scaleDown.policies', [], /policies: Required value: must specify at least one Policy/],
    ['spec.behavior.scaleDown.policies', [{ ...policy, type: 'X' }], /policies\[0\].type: Unsupported/],
    ['spec.behavior.scaleDown.policies', [{ ...policy, value: 0 }], /policies\[0\].value: .*greater than zero/],
    ['spec.behavior.scaleDown.policies', [{ ...policy, periodSeconds: 0 }], /periodSeconds: .*greater than zero/],
    ['spec.behavior.scaleDown.policies', [{ ...policy, periodSeconds: 1801 }], /less than or equal to 1800/],
    ['spec.metrics', metric('Resource', 'resource', { target: value }), /resource.name: Required/],
    ['spec.metrics', metric('Resource', 'resource', { name: 'cpu', target: value }), /averageUtilization: Required/],
    [
      'spec.metrics',
      metric('Resource', 'resource', {
        name: 'cpu',
        target: { type: 'Utilization', averageUtilization: 1, averageValue: '1' },
      }),
      /averageValue: Forbidden: may not set both/,
    ],
    ['spec.metrics', metric('Pods', 'pods', { target: value }), /metric.name: Required value: must specify a metric/],
    ['spec.metrics', metric('Pods', 'pods', { metric: { name: 'a/b' }, target: value }), /metric.name: .*may not/],
    ['spec.metrics', metric('Pods', 'pods', { metric: { name: 'a' }, target: value }), /positive target averageValue/],
    ['spec.metrics', metric('Object', 'object', { metric: { name: 'a' }, target: value }), /describedObject.kind: Req/],
    [
      'spec.metrics',
      metric('Object', 'object', { metric: { name: 'a' }, target: { type: 'Value' } }),
      /either a target value or averageValue/,
    ],
    ['spec.metrics', metric('External', 'external', { target: { type: 'Value' } }), /per-pod target/],
    [
      'spec.metrics',
      metric('External', 'external', { metric: { name: 'a' }, target: { ...value, averageValue: '1' } }),
      /target.value: Forbidden: may not set both/,
    ],
    ['spec.metrics', metric('ContainerResource', 'containerResource', {}), /containerResource: Required/],
  ];
  for (const [path, value, failure] of rows) {
    const failures = createFailures(strategy, withField(base, path, value));
    t.ok(
      failures.some((text) => failure.test(text)),
      `${path} ${failure}`,
      { failures },
    );
  }
  t.end();
});

import t from 'tap';
import { horizontalPodAutoscalerV1Strategy } from '#api/autoscaling/v1/horizontalpodautoscaler/strategy.js';
import { horizontalPodAutoscalerStrategy } from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import { checkRules, checkStatusRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('horizontal pod autoscalers of version 1 are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'h', namespace: 'ns' },
    spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 5 },
  };
  const create: RuleRow[] = [
    [
      'spec.maxReplicas',
      0,
      'spec.maxReplicas: Invalid value: 0: must be greater than 0',
      'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
    ],
    [
      'spec.maxReplicas',
      undefined,
      'spec.maxReplicas: Invalid value: 0: must be greater than 0',
      'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
    ],
    ['spec.minReplicas', -1, 'spec.minReplicas: Invalid value: -1: must be greater than or equal to 1'],
    ['spec.minReplicas', 6, 'spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`'],
    [
      'spec.scaleTargetRef',
      { kind: 'a/b', name: '..' },
      `spec.scaleTargetRef.kind: Invalid value: "a/b": may not contain '/'`,
      `spec.scaleTargetRef.name: Invalid value: "..": may not be '..'`,
    ],
    [
      'spec.scaleTargetRef',
      undefined,
      'spec.scaleTargetRef.kind: Required value',
      'spec.scaleTargetRef.name: Required value',
    ],
    [
      'spec.minReplicas',
      0,
      'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
      'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
    ],
    [
      'spec.targetCPUUtilizationPercentage',
      0,
      'spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0',
    ],
    ['spec.targetCPUUtilizationPercentage', 80],
    [
      'metadata.annotations',
      { 'autoscaling.alpha.orch.io/metrics': '[{"type":"Other"}]' },
      'spec.metrics[0].type: Unsupported value: "Other": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
  ];
  checkRules(t, horizontalPodAutoscalerV1Strategy, base, create);
  const status: RuleRow[] = [
    ['currentReplicas', -1, 'status.currentReplicas: Invalid value: -1: must be greater than or equal to 0'],
    ['desiredReplicas', -1, 'status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0'],
  ];
  checkStatusRules(t, horizontalPodAutoscalerV1Strategy, { base }, status);
  t.end();
});

t.test('horizontal pod autoscalers of version 2 are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'h', namespace: 'ns' },
    spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 5 },
  };
  const create: RuleRow[] = [
    [
      'spec.maxReplicas',
      0,
      'spec.maxReplicas: Invalid value: 0: must be greater than 0',
      'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
    ],
    [
      'spec.maxReplicas',
      undefined,
      'spec.maxReplicas: Invalid value: 0: must be greater than 0',
      'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
    ],
    ['spec.minReplicas', -1, 'spec.minReplicas: Invalid value: -1: must be greater than or equal to 1'],
    ['spec.minReplicas', 6, 'spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`'],
    [
      'spec.scaleTargetRef',
      { kind: 'a/b', name: '..' },
      `spec.scaleTargetRef.kind: Invalid value: "a/b": may not contain '/'`,
      `spec.scaleTargetRef.name: Invalid value: "..": may not be '..'`,
    ],
    [
      'spec.scaleTargetRef',
      undefined,
      'spec.scaleTargetRef.kind: Required value',
      'spec.scaleTargetRef.name: Required value',
    ],
    [
      'spec.minReplicas',
      0,
      'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
      'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
    ],
    [
      'spec.metrics',
      [{}],
      'spec.metrics[0].type: Required value: must specify a metric source type',
      'spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
    [
      'spec.metrics',
      [{ type: 'Other' }],
      'spec.metrics[0].type: Unsupported value: "Other": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
    [
      'spec.metrics',
      [{ type: 'Resource' }],
      'spec.metrics[0].resource: Required value: must populate information for the given metric source',
    ],
    [
      'spec.metrics',
      [{ type: 'Pods' }],
      'spec.metrics[0].pods: Required value: must populate information for the given metric source',
    ],
    [
      'spec.metrics',
      [{ type: 'Object' }],
      'spec.metrics[0].object: Required value: must populate information for the given metric source',
    ],
    [
      'spec.metrics',
      [{ type: 'External' }],
      'spec.metrics[0].external: Required value: must populate information for the given metric source',
    ],
    [
      'spec.metrics',
      [{ type: 'ContainerResource' }],
      'spec.metrics[0].containerResource: Required value: must populate information for the given metric source (only allowed when HPAContainerMetrics feature is enabled)',
    ],
    [
      'spec.metrics',
      [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
    ],
    [
      'spec.metrics',
      [{ type: 'Resource', resource: { target: { type: 'Utilization', averageUtilization: 50 } } }],
      'spec.metrics[0].resource.name: Required value: must specify a resource name',
    ],
    [
      'spec.metrics',
      [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization' } } }],
      'spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
    ],
    [
      'spec.metrics',
      [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50, averageValue: '1' } },
        },
      ],
      'spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization',
    ],
    [
      'spec.metrics',
      [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 0 } } }],
      'spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0',
    ],
    [
      'spec.metrics',
      [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Other', averageUtilization: 1 } } }],
      'spec.metrics[0].resource.target.type: Invalid value: "Other": must be either Utilization, Value, or AverageValue',
    ],
    [
      'spec.metrics',
      [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '0' } } }],
      'spec.metrics[0].resource.target.averageValue: Invalid value: resource.Quantity{i:resource.int64Amount{value:0, scale:0}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"0", Format:"DecimalSI"}: must be positive',
    ],
    [
      'spec.metrics',
      [{ type: 'Resource', resource: { name: 'cpu' } }],
      'spec.metrics[0].resource.target.type: Required value: must specify a metric target type',
      'spec.metrics[0].resource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
      'spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
    ],
    [
      'spec.metrics',
      [{ type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '1' } } }],
    ],
    [
      'spec.metrics',
      [{ type: 'Pods', pods: { metric: {}, target: { type: 'AverageValue', averageValue: '1' } } }],
      'spec.metrics[0].pods.metric.name: Required value: must specify a metric name',
    ],
    [
      'spec.metrics',
      [{ type: 'Pods', pods: { metric: { name: 'a/b' }, target: { type: 'AverageValue', averageValue: '1' } } }],
      `spec.metrics[0].pods.metric.name: Invalid value: "a/b": may not contain '/'`,
    ],
    [
      'spec.metrics',
      [{ type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'Value', value: '1' } } }],
      'spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue',
    ],
    [
      'spec.metrics',
      [{ type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '-1' } } }],
      'spec.metrics[0].pods.target.averageValue: Invalid value: resource.Quantity{i:resource.int64Amount{value:-1, scale:0}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"-1", Format:"DecimalSI"}: must be positive',
    ],
    [
      'spec.metrics',
      [
        {
          type: 'Object',
          object: {
            describedObject: { kind: 'K', name: 'n' },
            metric: { name: 'm' },
            target: { type: 'Value', value: '1' },
          },
        },
      ],
    ],
    [
      'spec.metrics',
      [
        {
          type: 'Object',
          object: { describedObject: {}, metric: { name: 'm' }, target: { type: 'Value', value: '1' } },
        },
      ],
      'spec.metrics[0].object.describedObject.kind: Required value',
      'spec.metrics[0].object.describedObject.name: Required value',
    ],
    [
      'spec.metrics',
      [
        {
          type: 'Object',
          object: { describedObject: { kind: 'K', name: 'n' }, metric: { name: 'm' }, target: { type: 'Value' } },
        },
      ],
      'spec.metrics[0].object.target.averageValue: Required value: must set either a target value or averageValue',
    ],
    [
      'spec.metrics',
      [{ type: 'External', external: { metric: { name: 'm' }, target: { type: 'Value', value: '1' } } }],
    ],
    [
      'spec.metrics',
      [{ type: 'External', external: { metric: { name: 'm' }, target: { type: 'Value' } } }],
      'spec.metrics[0].external.target.averageValue: Required value: must set either a target value for metric or a per-pod target',
    ],
    [
      'spec.metrics',
      [
        {
          type: 'External',
          external: { metric: { name: 'm' }, target: { type: 'Value', value: '1', averageValue: '1' } },
        },
      ],
      'spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target',
    ],
    [
      'spec.metrics',
      [{ type: 'External', external: { metric: { name: 'm' }, target: { type: 'Value', value: '0' } } }],
      'spec.metrics[0].external.target.value: Invalid value: resource.Quantity{i:resource.int64Amount{value:0, scale:0}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"0", Format:"DecimalSI"}: must be positive',
    ],
    [
      'spec.metrics',
      [{ type: 'Pods', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
      'spec.metrics[0].pods: Required value: must populate information for the given metric source',
    ],
    [
      'spec.metrics',
      [
        {
          type: 'Pods',
          pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '1' } },
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
        },
      ],
      'spec.metrics[0].resource: Forbidden: must populate the given metric source only',
    ],
    [
      'spec.behavior',
      { scaleUp: { stabilizationWindowSeconds: -1 } },
      'spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero',
    ],
    [
      'spec.behavior',
      { scaleDown: { stabilizationWindowSeconds: -1 } },
      'spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero',
    ],
    [
      'spec.behavior',
      { scaleUp: { stabilizationWindowSeconds: 3601 } },
      'spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600',
    ],
    [
      'spec.behavior',
      { scaleDown: { stabilizationWindowSeconds: 3601 } },
      'spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600',
    ],
    ['spec.behavior', { scaleUp: { stabilizationWindowSeconds: 3600 } }],
    ['spec.behavior', { scaleDown: { stabilizationWindowSeconds: 3600 } }],
    [
      'spec.behavior',
      { scaleUp: { selectPolicy: 'Other' } },
      'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Other": supported values: "Disabled", "Max", "Min"',
    ],
    [
      'spec.behavior',
      { scaleDown: { selectPolicy: 'Other' } },
      'spec.behavior.scaleDown.selectPolicy: Unsupported value: "Other": supported values: "Disabled", "Max", "Min"',
    ],
    ['spec.behavior', { scaleUp: { selectPolicy: 'Disabled' } }],
    ['spec.behavior', { scaleDown: { selectPolicy: 'Disabled' } }],
    [
      'spec.behavior',
      { scaleUp: { policies: [] } },
      'spec.behavior.scaleUp.policies: Required value: must specify at least one Policy',
    ],
    [
      'spec.behavior',
      { scaleDown: { policies: [] } },
      'spec.behavior.scaleDown.policies: Required value: must specify at least one Policy',
    ],
    [
      'spec.behavior',
      { scaleUp: { policies: [{ type: 'Other', value: 1, periodSeconds: 1 }] } },
      'spec.behavior.scaleUp.policies[0].type: Unsupported value: "Other": supported values: "Percent", "Pods"',
    ],
    [
      'spec.behavior',
      { scaleDown: { policies: [{ type: 'Other', value: 1, periodSeconds: 1 }] } },
      'spec.behavior.scaleDown.policies[0].type: Unsupported value: "Other": supported values: "Percent", "Pods"',
    ],
    [
      'spec.behavior',
      { scaleUp: { policies: [{ type: 'Pods', value: 0, periodSeconds: 1 }] } },
      'spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero',
    ],
    [
      'spec.behavior',
      { scaleDown: { policies: [{ type: 'Pods', value: 0, periodSeconds: 1 }] } },
      'spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero',
    ],
    [
      'spec.behavior',
      { scaleUp: { policies: [{ type: 'Percent', value: 1, periodSeconds: 0 }] } },
      'spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 0: must be greater than zero',
    ],
    [
      'spec.behavior',
      { scaleDown: { policies: [{ type: 'Percent', value: 1, periodSeconds: 0 }] } },
      'spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 0: must be greater than zero',
    ],
    [
      'spec.behavior',
      { scaleUp: { policies: [{ type: 'Percent', value: 1, periodSeconds: 1801 }] } },
      'spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
    ],
    [
      'spec.behavior',
      { scaleDown: { policies: [{ type: 'Percent', value: 1, periodSeconds: 1801 }] } },
      'spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
    ],
  ];
  checkRules(t, horizontalPodAutoscalerStrategy, base, create);
  const status: RuleRow[] = [
    ['currentReplicas', -1, 'status.currentReplicas: Invalid value: -1: must be greater than or equal to 0'],
    ['desiredReplicas', -1, 'status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0'],
    ['desiredReplicas', 0],
  ];
  checkStatusRules(t, horizontalPodAutoscalerStrategy, { base }, status);
  t.end();
});

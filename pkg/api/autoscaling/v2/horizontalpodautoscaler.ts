import { condition, defineTypes, message, object, optional, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ContainerResourceMetricSource: message('A resource use of one container of the pods.', {
      name: required(1, 'string', 'Resource: `cpu` or `memory`.'),
      target: required(2, 'MetricTarget', 'Use to aim at.'),
      container: required(3, 'string', 'Name of the container.'),
    }),
    ContainerResourceMetricStatus: message('Last seen resource use of one container of the pods.', {
      name: required(1, 'string', 'Resource.'),
      current: required(2, 'MetricValueStatus', 'Last seen use.'),
      container: required(3, 'string', 'Name of the container.'),
    }),
    CrossVersionObjectReference: message('A reference to an object of the same namespace.', {
      kind: required(1, 'string', 'Kind of the object.'),
      name: required(2, 'string', 'Name of the object.'),
      apiVersion: optional(3, 'string', "Group and version of the object's schema."),
    }),
    ExternalMetricSource: message('A metric from outside the cluster.', {
      metric: required(1, 'MetricIdentifier', 'Which metric.'),
      target: required(2, 'MetricTarget', 'Value to aim at.'),
    }),
    ExternalMetricStatus: message('Last seen value of a metric from outside the cluster.', {
      metric: required(1, 'MetricIdentifier', 'Which metric.'),
      current: required(2, 'MetricValueStatus', 'Last seen value.'),
    }),
    HPAScalingPolicy: message('A limit on how fast the number of pods changes.', {
      type: required(1, 'string', { enum: 'HPAScalingPolicyType' }, 'What `value` counts: `Pods` or `Percent`.'),
      value: required(2, 'int32', { minimum: 1 }, 'Most that may change within the period.'),
      periodSeconds: required(3, 'int32', { minimum: 1, maximum: 1800 }, 'Length of the period in seconds.'),
    }),
    HPAScalingRules: message('How the number of pods changes in one direction.', {
      stabilizationWindowSeconds: pointer(3, 'int32', { minimum: 0, maximum: 3600 }, 'Seconds over which past proposals are looked at, to avoid going up and down. Default: 0 for up, 300 for down.'),
      selectPolicy: pointer(1, 'string', { enum: 'ScalingPolicySelect' }, 'Which policy counts: `Max` the one that allows the most change, `Min` the least, `Disabled` forbids this direction. Default `Max`.'),
      policies: optional(2, 'HPAScalingPolicy[]', { listType: 'atomic', keepsEmpty: true }, 'Limits on the speed. Default up: 4 pods or 100 percent per 15 seconds; down: 100 percent per 15 seconds.'),
    }),
    HorizontalPodAutoscaler: object("Changes the number of a workload's pods with their load.", {
      spec: optional(2, 'HorizontalPodAutoscalerSpec', 'What the object is meant to be.'),
      status: optional(3, 'HorizontalPodAutoscalerStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    HorizontalPodAutoscalerBehavior: message('How fast the number of pods changes.', {
      scaleUp: pointer(1, 'HPAScalingRules', 'Rules for adding pods.'),
      scaleDown: pointer(2, 'HPAScalingRules', 'Rules for removing pods.'),
    }),
    HorizontalPodAutoscalerCondition: condition("One aspect of an autoscaler's state.", { type: { enum: 'HorizontalPodAutoscalerConditionType' } }),
    HorizontalPodAutoscalerSpec: message('What an autoscaler scales, and by what.', {
      scaleTargetRef: required(1, 'CrossVersionObjectReference', 'The workload to scale; it must have a `scale` subresource.'),
      minReplicas: pointer(2, 'int32', { default: 1 }, 'Least number of pods. 0 needs a gate and a metric that is not of the pods themselves.'),
      maxReplicas: required(3, 'int32', { minimum: 1 }, 'Greatest number of pods; not below `minReplicas`.'),
      metrics: optional(4, 'MetricSpec[]', { listType: 'atomic' }, 'Metrics to scale by; the one that asks for the most pods counts. Default: CPU use of 80 percent.'),
      behavior: pointer(5, 'HorizontalPodAutoscalerBehavior', 'How fast the number of pods changes in each direction.'),
    }),
    HorizontalPodAutoscalerStatus: message('What was last observed of an autoscaler.', {
      observedGeneration: pointer(1, 'int64', 'Generation of the spec that this status describes.'),
      lastScaleTime: pointer(2, 'meta.v1.Time', 'When the number of pods was last changed.'),
      currentReplicas: optional(3, 'int32', { minimum: 0 }, 'Number of pods.'),
      desiredReplicas: required(4, 'int32', { minimum: 0 }, 'Number of pods that the metrics ask for.'),
      currentMetrics: optional(5, 'MetricStatus[]', { listType: 'atomic', omitempty: false }, 'Last seen values of the metrics.'),
      conditions: optional(6, 'HorizontalPodAutoscalerCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
    MetricIdentifier: message('Which metric.', {
      name: required(1, 'string', 'Name of the metric.'),
      selector: pointer(2, 'meta.v1.LabelSelector', 'Labels of the series to take. Default: all.'),
    }),
    MetricSpec: union('A metric to scale by.', {
      type: required(1, 'string', { enum: 'MetricSourceType', discriminator: true }, '`Resource`, `ContainerResource`, `Pods`, `Object` or `External`.'),
      object: pointer(2, 'ObjectMetricSource', 'A metric of one object.'),
      external: pointer(5, 'ExternalMetricSource', 'A metric from outside the cluster.'),
      pods: pointer(3, 'PodsMetricSource', 'A metric of the pods, averaged over them.'),
      resource: pointer(4, 'ResourceMetricSource', 'A resource use of the pods.'),
      containerResource: pointer(7, 'ContainerResourceMetricSource', { featureGate: 'HPAContainerMetrics' }, 'A resource use of one container of the pods.'),
    }),
    MetricStatus: union('Last seen value of a metric.', {
      type: required(1, 'string', { enum: 'MetricSourceType', discriminator: true }, '`Resource`, `ContainerResource`, `Pods`, `Object` or `External`.'),
      object: pointer(2, 'ObjectMetricStatus', 'A metric of one object.'),
      external: pointer(5, 'ExternalMetricStatus', 'A metric from outside the cluster.'),
      pods: pointer(3, 'PodsMetricStatus', 'A metric of the pods, averaged over them.'),
      resource: pointer(4, 'ResourceMetricStatus', 'A resource use of the pods.'),
      containerResource: pointer(7, 'ContainerResourceMetricStatus', 'A resource use of one container of the pods.'),
    }),
    MetricTarget: message('A value to aim at.', {
      type: required(1, 'string', { enum: 'MetricTargetType' }, '`Utilization`, `Value` or `AverageValue`.'),
      value: pointer(2, 'resource.Quantity', 'Value of the metric as a whole.'),
      averageValue: pointer(3, 'resource.Quantity', 'Value averaged over the pods.'),
      averageUtilization: pointer(4, 'int32', { minimum: 1 }, 'Percentage of the request, averaged over the pods. Only for resources.'),
    }),
    MetricValueStatus: message('A value that was seen.', {
      value: pointer(1, 'resource.Quantity', 'Value of the metric as a whole.'),
      averageValue: pointer(2, 'resource.Quantity', 'Value averaged over the pods.'),
      averageUtilization: pointer(3, 'int32', 'Percentage of the request, averaged over the pods.'),
    }),
    ObjectMetricSource: message('A metric of one object.', {
      describedObject: required(1, 'CrossVersionObjectReference', 'The object.'),
      target: required(2, 'MetricTarget', 'Value to aim at.'),
      metric: required(3, 'MetricIdentifier', 'Which metric.'),
    }),
    ObjectMetricStatus: message('Last seen value of a metric of one object.', {
      metric: required(1, 'MetricIdentifier', 'Which metric.'),
      current: required(2, 'MetricValueStatus', 'Last seen value.'),
      describedObject: required(3, 'CrossVersionObjectReference', 'The object.'),
    }),
    PodsMetricSource: message('A metric of the pods.', {
      metric: required(1, 'MetricIdentifier', 'Which metric.'),
      target: required(2, 'MetricTarget', 'Value to aim at; of type `AverageValue`.'),
    }),
    PodsMetricStatus: message('Last seen value of a metric of the pods.', {
      metric: required(1, 'MetricIdentifier', 'Which metric.'),
      current: required(2, 'MetricValueStatus', 'Last seen value.'),
    }),
    ResourceMetricSource: message('A resource use of the pods.', {
      name: required(1, 'string', 'Resource: `cpu` or `memory`.'),
      target: required(2, 'MetricTarget', 'Use to aim at.'),
    }),
    ResourceMetricStatus: message('Last seen resource use of the pods.', {
      name: required(1, 'string', 'Resource.'),
      current: required(2, 'MetricValueStatus', 'Last seen use.'),
    }),
  },
  enums: {
    HPAScalingPolicyType: ['Percent', 'Pods'],
    HorizontalPodAutoscalerConditionType: ['AbleToScale', 'ScalingActive', 'ScalingLimited'],
    MetricSourceType: ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'],
    MetricTargetType: ['AverageValue', 'Utilization', 'Value'],
    ScalingPolicySelect: ['Disabled', 'Max', 'Min'],
  },
  resources: [
    {
      resource: 'horizontalpodautoscalers',
      kind: 'HorizontalPodAutoscaler',
      shortNames: ['hpa'],
      categories: ['all'],
      subresources: ['status'],
      columns: ['Name', 'Reference', 'Targets', 'MinPods', 'MaxPods', 'Replicas', 'Age'],
    },
  ],
});

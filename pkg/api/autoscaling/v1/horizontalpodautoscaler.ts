import { declaration as stable } from '#api/autoscaling/v2/horizontalpodautoscaler.js';
import { defineTypes, message, object, optional, pointer, required, union } from '#apimachinery/schema/language.js';

// Parts that both versions share.
const { CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, MetricStatus } = stable.types;
const { metrics: _metrics, behavior: _behavior, ...bounds } = stable.types.HorizontalPodAutoscalerSpec.fields;
const { HorizontalPodAutoscalerConditionType, MetricSourceType } = stable.enums;

export const declaration = defineTypes({
  types: {
    // Atomic for server-side apply in this version only, as in 1.24.
    CrossVersionObjectReference: { ...CrossVersionObjectReference, atomic: true },
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerCondition,
    MetricStatus,
    ContainerResourceMetricSource: message('A resource use of one container of the pods.', {
      name: required(1, 'string', 'Resource: `cpu` or `memory`.'),
      targetAverageUtilization: pointer(2, 'int32', 'Use to aim at, as a percentage of the request, averaged over the pods.'),
      targetAverageValue: pointer(3, 'resource.Quantity', 'Use to aim at, averaged over the pods.'),
      container: required(5, 'string', 'Name of the container.'),
    }),
    ContainerResourceMetricStatus: message('Last seen resource use of one container of the pods.', {
      name: required(1, 'string', 'Resource.'),
      currentAverageUtilization: pointer(2, 'int32', 'Use as a percentage of the request, averaged over the pods.'),
      currentAverageValue: required(3, 'resource.Quantity', 'Use averaged over the pods.'),
      container: required(4, 'string', 'Name of the container.'),
    }),
    ExternalMetricSource: message('A metric from outside the cluster.', {
      metricName: required(1, 'string', 'Name of the metric.'),
      metricSelector: pointer(2, 'meta.v1.LabelSelector', 'Labels of the series to take.'),
      targetValue: pointer(3, 'resource.Quantity', 'Value to aim at. Not together with `targetAverageValue`.'),
      targetAverageValue: pointer(4, 'resource.Quantity', 'Value per pod to aim at. Not together with `targetValue`.'),
    }),
    ExternalMetricStatus: message('Last seen value of a metric from outside the cluster.', {
      metricName: required(1, 'string', 'Name of the metric.'),
      metricSelector: pointer(2, 'meta.v1.LabelSelector', 'Labels of the series taken.'),
      currentValue: required(3, 'resource.Quantity', 'Value of the metric.'),
      currentAverageValue: pointer(4, 'resource.Quantity', 'Value per pod.'),
    }),
    HorizontalPodAutoscalerSpec: message('What an autoscaler scales, and by what.', {
      ...bounds,
      targetCPUUtilizationPercentage: pointer(4, 'int32', 'CPU use to aim at, as a percentage of the request, averaged over the pods. Default 80.'),
    }),
    HorizontalPodAutoscalerStatus: message('What was last observed of an autoscaler.', {
      observedGeneration: pointer(1, 'int64', 'Generation of the spec that this status describes.'),
      lastScaleTime: pointer(2, 'meta.v1.Time', 'When the number of pods was last changed.'),
      currentReplicas: required(3, 'int32', 'Number of pods.'),
      desiredReplicas: required(4, 'int32', 'Number of pods that the metrics ask for.'),
      currentCPUUtilizationPercentage: pointer(5, 'int32', 'CPU use as a percentage of the request, averaged over the pods.'),
    }),
    MetricSpec: union('A metric to scale by.', {
      type: required(1, 'string', { enum: 'MetricSourceType', discriminator: true }, '`Resource`, `ContainerResource`, `Pods`, `Object` or `External`.'),
      object: pointer(2, 'ObjectMetricSource', 'A metric of one object.'),
      external: pointer(5, 'ExternalMetricSource', 'A metric from outside the cluster.'),
      pods: pointer(3, 'PodsMetricSource', 'A metric of the pods, averaged over them.'),
      resource: pointer(4, 'ResourceMetricSource', 'A resource use of the pods.'),
      containerResource: pointer(7, 'ContainerResourceMetricSource', 'A resource use of one container of the pods.'),
    }),
    ObjectMetricSource: message('A metric of one object.', {
      target: required(1, 'CrossVersionObjectReference', 'The object.'),
      metricName: required(2, 'string', 'Name of the metric.'),
      targetValue: required(3, 'resource.Quantity', 'Value to aim at.'),
      selector: pointer(4, 'meta.v1.LabelSelector', 'Labels of the series to take.'),
      averageValue: pointer(5, 'resource.Quantity', 'Value per pod to aim at.'),
    }),
    ObjectMetricStatus: message('Last seen value of a metric of one object.', {
      target: required(1, 'CrossVersionObjectReference', 'The object.'),
      metricName: required(2, 'string', 'Name of the metric.'),
      currentValue: required(3, 'resource.Quantity', 'Value of the metric.'),
      selector: pointer(4, 'meta.v1.LabelSelector', 'Labels of the series taken.'),
      averageValue: pointer(5, 'resource.Quantity', 'Value per pod.'),
    }),
    PodsMetricSource: message('A metric of the pods.', {
      metricName: required(1, 'string', 'Name of the metric.'),
      targetAverageValue: required(2, 'resource.Quantity', 'Value to aim at, averaged over the pods.'),
      selector: pointer(3, 'meta.v1.LabelSelector', 'Labels of the series to take.'),
    }),
    PodsMetricStatus: message('Last seen value of a metric of the pods.', {
      metricName: required(1, 'string', 'Name of the metric.'),
      currentAverageValue: required(2, 'resource.Quantity', 'Value averaged over the pods.'),
      selector: pointer(3, 'meta.v1.LabelSelector', 'Labels of the series taken.'),
    }),
    ResourceMetricSource: message('A resource use of the pods.', {
      name: required(1, 'string', 'Resource: `cpu` or `memory`.'),
      targetAverageUtilization: pointer(2, 'int32', 'Use to aim at, as a percentage of the request, averaged over the pods.'),
      targetAverageValue: pointer(3, 'resource.Quantity', 'Use to aim at, averaged over the pods.'),
    }),
    ResourceMetricStatus: message('Last seen resource use of the pods.', {
      name: required(1, 'string', 'Resource.'),
      currentAverageUtilization: pointer(2, 'int32', 'Use as a percentage of the request, averaged over the pods.'),
      currentAverageValue: required(3, 'resource.Quantity', 'Use averaged over the pods.'),
    }),
    Scale: object('The number of pods of a workload.', {
      spec: optional(2, 'ScaleSpec', 'What the object is meant to be.'),
      status: optional(3, 'ScaleStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    ScaleSpec: message('How many pods are wanted.', {
      replicas: optional(1, 'int32', 'Number of pods wanted.'),
    }),
    ScaleStatus: message('How many pods there are.', {
      replicas: required(1, 'int32', 'Number of pods.'),
      selector: optional(2, 'string', 'Labels of the pods, as text.'),
    }),
  },
  enums: { HorizontalPodAutoscalerConditionType, MetricSourceType },
  resources: [
    {
      resource: 'horizontalpodautoscalers',
      kind: 'HorizontalPodAutoscaler',
      storedAs: { version: 'v2' },
      shortNames: ['hpa'],
      categories: ['all'],
      subresources: ['status'],
      columns: ['Name', 'Reference', 'Targets', 'MinPods', 'MaxPods', 'Replicas', 'Age'],
    },
  ],
});

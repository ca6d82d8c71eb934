import { atomic, defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
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
    CrossVersionObjectReference: atomic('A reference to an object of the same namespace.', {
      kind: required(1, 'string', 'Kind of the object.'),
      name: required(2, 'string', 'Name of the object.'),
      apiVersion: optional(3, 'string', "Group and version of the object's schema."),
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
    HorizontalPodAutoscaler: object("Changes the number of a workload's pods with their load.", {
      spec: optional(2, 'HorizontalPodAutoscalerSpec', 'What the object is meant to be.'),
      status: optional(3, 'HorizontalPodAutoscalerStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    HorizontalPodAutoscalerCondition: message("One aspect of an autoscaler's state.", {
      type: required(1, 'string', { enum: 'HorizontalPodAutoscalerConditionType' }, 'Aspect that the condition describes.'),
      status: required(2, 'string', 'Whether the condition holds: `True`, `False` or `Unknown`.'),
      lastTransitionTime: optional(3, 'meta.v1.Time', 'When the status last changed.'),
      reason: optional(4, 'string', 'One CamelCase word on why the status last changed, for programs.'),
      message: optional(5, 'string', 'Details of the last change of the status, for people.'),
    }),
    HorizontalPodAutoscalerSpec: message('What an autoscaler scales, and by what.', {
      scaleTargetRef: required(1, 'CrossVersionObjectReference', 'The workload to scale; it must have a `scale` subresource.'),
      minReplicas: pointer(2, 'int32', 'Least number of pods. 0 needs a gate and a metric that is not of the pods themselves. Default 1.'),
      maxReplicas: required(3, 'int32', 'Greatest number of pods; not below `minReplicas`.'),
      targetCPUUtilizationPercentage: pointer(4, 'int32', 'CPU use to aim at, as a percentage of the request, averaged over the pods. Default 80.'),
    }),
    HorizontalPodAutoscalerStatus: message('What was last observed of an autoscaler.', {
      observedGeneration: pointer(1, 'int64', 'Generation of the spec that this status describes.'),
      lastScaleTime: pointer(2, 'meta.v1.Time', 'When the number of pods was last changed.'),
      currentReplicas: required(3, 'int32', 'Number of pods.'),
      desiredReplicas: required(4, 'int32', 'Number of pods that the metrics ask for.'),
      currentCPUUtilizationPercentage: pointer(5, 'int32', 'CPU use as a percentage of the request, averaged over the pods.'),
    }),
    MetricSpec: message('A metric to scale by. The member that the type names is set.', {
      type: required(1, 'string', { enum: 'MetricSourceType' }, '`Resource`, `ContainerResource`, `Pods`, `Object` or `External`.'),
      object: pointer(2, 'ObjectMetricSource', 'A metric of one object.'),
      pods: pointer(3, 'PodsMetricSource', 'A metric of the pods, averaged over them.'),
      resource: pointer(4, 'ResourceMetricSource', 'A resource use of the pods.'),
      containerResource: pointer(7, 'ContainerResourceMetricSource', 'A resource use of one container of the pods.'),
      external: pointer(5, 'ExternalMetricSource', 'A metric from outside the cluster.'),
    }),
    MetricStatus: message('Last seen value of a metric. The member that the type names is set.', {
      type: required(1, 'string', { enum: 'MetricSourceType' }, '`Resource`, `ContainerResource`, `Pods`, `Object` or `External`.'),
      object: pointer(2, 'ObjectMetricStatus', 'A metric of one object.'),
      pods: pointer(3, 'PodsMetricStatus', 'A metric of the pods, averaged over them.'),
      resource: pointer(4, 'ResourceMetricStatus', 'A resource use of the pods.'),
      containerResource: pointer(7, 'ContainerResourceMetricStatus', 'A resource use of one container of the pods.'),
      external: pointer(5, 'ExternalMetricStatus', 'A metric from outside the cluster.'),
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
  enums: {
    HorizontalPodAutoscalerConditionType: ['AbleToScale', 'ScalingActive', 'ScalingLimited'],
    MetricSourceType: ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'],
  },
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

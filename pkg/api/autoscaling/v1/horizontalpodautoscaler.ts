import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ContainerResourceMetricSource: {
      name: { number: 1, type: 'string' },
      targetAverageUtilization: { number: 2, type: 'int32', pointer: true, omitempty: true, optional: true },
      targetAverageValue: { number: 3, type: 'resource.Quantity', pointer: true, omitempty: true, optional: true },
      container: { number: 5, type: 'string' },
    },
    ContainerResourceMetricStatus: {
      name: { number: 1, type: 'string' },
      currentAverageUtilization: { number: 2, type: 'int32', pointer: true, omitempty: true, optional: true },
      currentAverageValue: { number: 3, type: 'resource.Quantity' },
      container: { number: 4, type: 'string' },
    },
    CrossVersionObjectReference: {
      kind: { number: 1, type: 'string' },
      name: { number: 2, type: 'string' },
      apiVersion: { number: 3, type: 'string', omitempty: true, optional: true },
    },
    ExternalMetricSource: {
      metricName: { number: 1, type: 'string' },
      metricSelector: { number: 2, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      targetValue: { number: 3, type: 'resource.Quantity', pointer: true, omitempty: true, optional: true },
      targetAverageValue: { number: 4, type: 'resource.Quantity', pointer: true, omitempty: true, optional: true },
    },
    ExternalMetricStatus: {
      metricName: { number: 1, type: 'string' },
      metricSelector: { number: 2, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      currentValue: { number: 3, type: 'resource.Quantity' },
      currentAverageValue: { number: 4, type: 'resource.Quantity', pointer: true, omitempty: true, optional: true },
    },
    HorizontalPodAutoscaler: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'HorizontalPodAutoscalerSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'HorizontalPodAutoscalerStatus', omitempty: true, optional: true },
    },
    HorizontalPodAutoscalerCondition: {
      type: { number: 1, type: 'string', enum: 'HorizontalPodAutoscalerConditionType' },
      status: { number: 2, type: 'string' },
      lastTransitionTime: { number: 3, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 4, type: 'string', omitempty: true, optional: true },
      message: { number: 5, type: 'string', omitempty: true, optional: true },
    },
    HorizontalPodAutoscalerList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'HorizontalPodAutoscaler', repeated: true },
    },
    HorizontalPodAutoscalerSpec: {
      scaleTargetRef: { number: 1, type: 'CrossVersionObjectReference' },
      minReplicas: { number: 2, type: 'int32', pointer: true, omitempty: true, optional: true },
      maxReplicas: { number: 3, type: 'int32' },
      targetCPUUtilizationPercentage: { number: 4, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
    HorizontalPodAutoscalerStatus: {
      observedGeneration: { number: 1, type: 'int64', pointer: true, omitempty: true, optional: true },
      lastScaleTime: { number: 2, type: 'meta.v1.Time', pointer: true, omitempty: true, optional: true },
      currentReplicas: { number: 3, type: 'int32' },
      desiredReplicas: { number: 4, type: 'int32' },
      currentCPUUtilizationPercentage: { number: 5, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
    MetricSpec: {
      type: { number: 1, type: 'string', enum: 'MetricSourceType' },
      object: { number: 2, type: 'ObjectMetricSource', pointer: true, omitempty: true, optional: true },
      pods: { number: 3, type: 'PodsMetricSource', pointer: true, omitempty: true, optional: true },
      resource: { number: 4, type: 'ResourceMetricSource', pointer: true, omitempty: true, optional: true },
      containerResource: {
        number: 7,
        type: 'ContainerResourceMetricSource',
        pointer: true,
        omitempty: true,
        optional: true,
      },
      external: { number: 5, type: 'ExternalMetricSource', pointer: true, omitempty: true, optional: true },
    },
    MetricStatus: {
      type: { number: 1, type: 'string', enum: 'MetricSourceType' },
      object: { number: 2, type: 'ObjectMetricStatus', pointer: true, omitempty: true, optional: true },
      pods: { number: 3, type: 'PodsMetricStatus', pointer: true, omitempty: true, optional: true },
      resource: { number: 4, type: 'ResourceMetricStatus', pointer: true, omitempty: true, optional: true },
      containerResource: {
        number: 7,
        type: 'ContainerResourceMetricStatus',
        pointer: true,
        omitempty: true,
        optional: true,
      },
      external: { number: 5, type: 'ExternalMetricStatus', pointer: true, omitempty: true, optional: true },
    },
    ObjectMetricSource: {
      target: { number: 1, type: 'CrossVersionObjectReference' },
      metricName: { number: 2, type: 'string' },
      targetValue: { number: 3, type: 'resource.Quantity' },
      selector: { number: 4, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      averageValue: { number: 5, type: 'resource.Quantity', pointer: true, omitempty: true, optional: true },
    },
    ObjectMetricStatus: {
      target: { number: 1, type: 'CrossVersionObjectReference' },
      metricName: { number: 2, type: 'string' },
      currentValue: { number: 3, type: 'resource.Quantity' },
      selector: { number: 4, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      averageValue: { number: 5, type: 'resource.Quantity', pointer: true, omitempty: true, optional: true },
    },
    PodsMetricSource: {
      metricName: { number: 1, type: 'string' },
      targetAverageValue: { number: 2, type: 'resource.Quantity' },
      selector: { number: 3, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
    },
    PodsMetricStatus: {
      metricName: { number: 1, type: 'string' },
      currentAverageValue: { number: 2, type: 'resource.Quantity' },
      selector: { number: 3, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
    },
    ResourceMetricSource: {
      name: { number: 1, type: 'string' },
      targetAverageUtilization: { number: 2, type: 'int32', pointer: true, omitempty: true, optional: true },
      targetAverageValue: { number: 3, type: 'resource.Quantity', pointer: true, omitempty: true, optional: true },
    },
    ResourceMetricStatus: {
      name: { number: 1, type: 'string' },
      currentAverageUtilization: { number: 2, type: 'int32', pointer: true, omitempty: true, optional: true },
      currentAverageValue: { number: 3, type: 'resource.Quantity' },
    },
    Scale: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'ScaleSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'ScaleStatus', omitempty: true, optional: true },
    },
    ScaleSpec: {
      replicas: { number: 1, type: 'int32', omitempty: true, optional: true },
    },
    ScaleStatus: {
      replicas: { number: 1, type: 'int32' },
      selector: { number: 2, type: 'string', omitempty: true, optional: true },
    },
  },
  enums: {
    HorizontalPodAutoscalerConditionType: ['AbleToScale', 'ScalingActive', 'ScalingLimited'],
    MetricSourceType: ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'],
  },
  resources: [
    {
      resource: 'horizontalpodautoscalers',
      singular: 'horizontalpodautoscaler',
      kind: 'HorizontalPodAutoscaler',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['hpa'],
      categories: ['all'],
      subresources: [{ name: 'status', kind: 'HorizontalPodAutoscaler', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Reference', type: 'string' },
        { name: 'Targets', type: 'string' },
        { name: 'MinPods', type: 'string' },
        { name: 'MaxPods', type: 'string' },
        { name: 'Replicas', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Affinity: {
      nodeAffinity: { number: 1, type: 'NodeAffinity', pointer: true, omitempty: true, optional: true },
      podAffinity: { number: 2, type: 'PodAffinity', pointer: true, omitempty: true, optional: true },
      podAntiAffinity: { number: 3, type: 'PodAntiAffinity', pointer: true, omitempty: true, optional: true },
    },
    NodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        number: 1,
        type: 'NodeSelector',
        pointer: true,
        omitempty: true,
        optional: true,
      },
      preferredDuringSchedulingIgnoredDuringExecution: {
        number: 2,
        type: 'PreferredSchedulingTerm',
        repeated: true,
        omitempty: true,
        optional: true,
      },
    },
    NodeSelector: {
      nodeSelectorTerms: { number: 1, type: 'NodeSelectorTerm', repeated: true },
    },
    NodeSelectorRequirement: {
      key: { number: 1, type: 'string' },
      operator: { number: 2, type: 'string', enum: 'NodeSelectorOperator' },
      values: { number: 3, type: 'string', repeated: true, omitempty: true, optional: true },
    },
    NodeSelectorTerm: {
      matchExpressions: { number: 1, type: 'NodeSelectorRequirement', repeated: true, omitempty: true, optional: true },
      matchFields: { number: 2, type: 'NodeSelectorRequirement', repeated: true, omitempty: true, optional: true },
    },
    PodAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        number: 1,
        type: 'PodAffinityTerm',
        repeated: true,
        omitempty: true,
        optional: true,
      },
      preferredDuringSchedulingIgnoredDuringExecution: {
        number: 2,
        type: 'WeightedPodAffinityTerm',
        repeated: true,
        omitempty: true,
        optional: true,
      },
    },
    PodAffinityTerm: {
      labelSelector: { number: 1, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      namespaces: { number: 2, type: 'string', repeated: true, omitempty: true, optional: true },
      topologyKey: { number: 3, type: 'string' },
      namespaceSelector: { number: 4, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
    },
    PodAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        number: 1,
        type: 'PodAffinityTerm',
        repeated: true,
        omitempty: true,
        optional: true,
      },
      preferredDuringSchedulingIgnoredDuringExecution: {
        number: 2,
        type: 'WeightedPodAffinityTerm',
        repeated: true,
        omitempty: true,
        optional: true,
      },
    },
    PreferredSchedulingTerm: {
      weight: { number: 1, type: 'int32' },
      preference: { number: 2, type: 'NodeSelectorTerm' },
    },
    ScopeSelector: {
      matchExpressions: {
        number: 1,
        type: 'ScopedResourceSelectorRequirement',
        repeated: true,
        omitempty: true,
        optional: true,
      },
    },
    ScopedResourceSelectorRequirement: {
      scopeName: { number: 1, type: 'string', enum: 'ResourceQuotaScope' },
      operator: { number: 2, type: 'string', enum: 'ScopeSelectorOperator' },
      values: { number: 3, type: 'string', repeated: true, omitempty: true, optional: true },
    },
    Taint: {
      key: { number: 1, type: 'string' },
      value: { number: 2, type: 'string', omitempty: true, optional: true },
      effect: { number: 3, type: 'string', enum: 'TaintEffect' },
      timeAdded: { number: 4, type: 'meta.v1.Time', pointer: true, omitempty: true, optional: true },
    },
    Toleration: {
      key: { number: 1, type: 'string', omitempty: true, optional: true },
      operator: { number: 2, type: 'string', omitempty: true, optional: true, enum: 'TolerationOperator' },
      value: { number: 3, type: 'string', omitempty: true, optional: true },
      effect: { number: 4, type: 'string', omitempty: true, optional: true, enum: 'TaintEffect' },
      tolerationSeconds: { number: 5, type: 'int64', pointer: true, omitempty: true, optional: true },
    },
    TopologySelectorLabelRequirement: {
      key: { number: 1, type: 'string' },
      values: { number: 2, type: 'string', repeated: true },
    },
    TopologySelectorTerm: {
      matchLabelExpressions: {
        number: 1,
        type: 'TopologySelectorLabelRequirement',
        repeated: true,
        omitempty: true,
        optional: true,
      },
    },
    WeightedPodAffinityTerm: {
      weight: { number: 1, type: 'int32' },
      podAffinityTerm: { number: 2, type: 'PodAffinityTerm' },
    },
  },
  enums: {
    NodeSelectorOperator: ['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn'],
    ResourceQuotaScope: [
      'BestEffort',
      'CrossNamespacePodAffinity',
      'NotBestEffort',
      'NotTerminating',
      'PriorityClass',
      'Terminating',
    ],
    ScopeSelectorOperator: ['DoesNotExist', 'Exists', 'In', 'NotIn'],
    TaintEffect: ['NoExecute', 'NoSchedule', 'PreferNoSchedule'],
    TolerationOperator: ['Equal', 'Exists'],
  },
};

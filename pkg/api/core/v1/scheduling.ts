import { atomic, defineTypes, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Affinity: message('Rules on where a pod is placed: by labels of the nodes, or by the pods that already run there.', {
      nodeAffinity: pointer(1, 'NodeAffinity', 'Rules on nodes.'),
      podAffinity: pointer(2, 'PodAffinity', 'Rules on pods to be close to.'),
      podAntiAffinity: pointer(3, 'PodAntiAffinity', 'Rules on pods to keep away from.'),
    }),
    NodeAffinity: message('Rules on the nodes that a pod may or would rather run on.', {
      requiredDuringSchedulingIgnoredDuringExecution: pointer(1, 'NodeSelector', 'Nodes that the pod may be placed on. Later changes of a node do not move a running pod.'),
      preferredDuringSchedulingIgnoredDuringExecution: optional(2, 'PreferredSchedulingTerm[]', 'Nodes that the pod would rather be placed on. A node collects the weights of all terms it matches; the highest sum is best.'),
    }),
    NodeSelector: atomic('A set of nodes: those that match at least one term.', {
      nodeSelectorTerms: required(1, 'NodeSelectorTerm[]', 'Terms of which one must match. At least one is needed; an empty term matches nothing.'),
    }),
    NodeSelectorRequirement: message('A condition on a label or a field of a node.', {
      key: required(1, 'string', 'Label, or field, to look at.'),
      operator: required(2, 'string', { enum: 'NodeSelectorOperator' }, '`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.'),
      values: optional(3, 'string[]', 'Values to compare with. At least one for `In` and `NotIn`, none for `Exists` and `DoesNotExist`, one integer for `Gt` and `Lt`.'),
    }),
    NodeSelectorTerm: atomic('Conditions that a node must all meet. Without conditions it matches no node.', {
      matchExpressions: optional(1, 'NodeSelectorRequirement[]', 'Conditions on labels.'),
      matchFields: optional(2, 'NodeSelectorRequirement[]', 'Conditions on fields; only `metadata.name`, with `In` or `NotIn` and one value.'),
    }),
    PodAffinity: message('Rules on the pods that a pod must or would rather run close to.', {
      requiredDuringSchedulingIgnoredDuringExecution: optional(1, 'PodAffinityTerm[]', 'Terms that the node must all meet when the pod is placed. Later changes do not move a running pod.'),
      preferredDuringSchedulingIgnoredDuringExecution: optional(2, 'WeightedPodAffinityTerm[]', 'Terms that a node would better meet. The highest sum of weights is best.'),
    }),
    PodAffinityTerm: message('A set of pods, and how close is close.', {
      labelSelector: pointer(1, 'meta.v1.LabelSelector', 'Labels of the pods. Unset matches none, empty matches all.'),
      namespaces: optional(2, 'string[]', "Names of namespaces whose pods count, besides those of `namespaceSelector`. Default, without either: the pod's own namespace."),
      topologyKey: required(3, 'string', 'Node label whose values mark places: nodes with equal values are the same place. Required.'),
      namespaceSelector: pointer(4, 'meta.v1.LabelSelector', 'Labels of namespaces whose pods count. Empty matches all namespaces.'),
    }),
    PodAntiAffinity: message('Rules on the pods that a pod must or would rather keep away from.', {
      requiredDuringSchedulingIgnoredDuringExecution: optional(1, 'PodAffinityTerm[]', 'Terms of which the node must meet none when the pod is placed. Later changes do not move a running pod.'),
      preferredDuringSchedulingIgnoredDuringExecution: optional(2, 'WeightedPodAffinityTerm[]', 'Terms that a node would better not meet. The lowest sum of weights is best.'),
    }),
    PreferredSchedulingTerm: message('A preference for some nodes, with a weight.', {
      weight: required(1, 'int32', { minimum: 1, maximum: 100 }, 'How much the preference counts.'),
      preference: required(2, 'NodeSelectorTerm', 'Nodes that are preferred. An empty term matches none.'),
    }),
    ScopeSelector: atomic('Conditions on the objects that a quota counts.', {
      matchExpressions: optional(1, 'ScopedResourceSelectorRequirement[]', 'Conditions that an object must all meet.'),
    }),
    ScopedResourceSelectorRequirement: atomic('A condition on a scope of a quota.', {
      scopeName: required(1, 'string', { enum: 'ResourceQuotaScope' }, 'Scope to look at: `Terminating`, `NotTerminating`, `BestEffort`, `NotBestEffort`, `PriorityClass` or `CrossNamespacePodAffinity`.'),
      operator: required(2, 'string', { enum: 'ScopeSelectorOperator' }, '`In`, `NotIn`, `Exists` or `DoesNotExist`. Scopes other than `PriorityClass` allow `Exists` only.'),
      values: optional(3, 'string[]', 'Values to compare with: at least one for `In` and `NotIn`, otherwise none.'),
    }),
    Taint: message('A mark on a node that keeps away pods without a matching toleration.', {
      key: required(1, 'string', "Name of the taint, of the form of a label's key."),
      value: optional(2, 'string', "Value of the taint, of the form of a label's value. Default empty."),
      effect: required(3, 'string', { enum: 'TaintEffect' }, '`NoSchedule` places no new pods, `PreferNoSchedule` avoids to, `NoExecute` also removes running ones.'),
      timeAdded: pointer(4, 'meta.v1.Time', 'When the taint was added. Set for `NoExecute` only.'),
    }),
    Toleration: message('Lets a pod onto nodes with a matching taint.', {
      key: optional(1, 'string', 'Key of the taint. Empty, with `Exists`, matches all keys.'),
      operator: optional(2, 'string', { enum: 'TolerationOperator' }, '`Equal` compares the value, `Exists` matches any value. Default `Equal`.'),
      value: optional(3, 'string', 'Value of the taint. Empty for `Exists`.'),
      effect: optional(4, 'string', { enum: 'TaintEffect' }, 'Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. Default: all.'),
      tolerationSeconds: pointer(5, 'int64', 'Seconds that the pod may stay once a `NoExecute` taint appears; zero or less removes it at once. Default: for ever.'),
    }),
    TopologySelectorLabelRequirement: message('A condition on a node label.', {
      key: required(1, 'string', 'Label to look at.'),
      values: required(2, 'string[]', 'Values of which the label must have one.'),
    }),
    TopologySelectorTerm: atomic('Conditions on node labels that must all be met.', {
      matchLabelExpressions: optional(1, 'TopologySelectorLabelRequirement[]', 'The conditions.'),
    }),
    WeightedPodAffinityTerm: message('A preference about other pods, with a weight.', {
      weight: required(1, 'int32', { minimum: 1, maximum: 100 }, 'How much the preference counts.'),
      podAffinityTerm: required(2, 'PodAffinityTerm', 'Pods that the preference is about.'),
    }),
  },
  enums: {
    NodeSelectorOperator: ['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn'],
    ResourceQuotaScope: ['BestEffort', 'CrossNamespacePodAffinity', 'NotBestEffort', 'NotTerminating', 'PriorityClass', 'Terminating'],
    ScopeSelectorOperator: ['DoesNotExist', 'Exists', 'In', 'NotIn'],
    TaintEffect: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
    TolerationOperator: ['Equal', 'Exists'],
  },
});

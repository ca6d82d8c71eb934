import { condition, defineTypes, message, object, optional, pointer, required, scale, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    RollingUpdateStatefulSetStrategy: message('How a StatefulSet is updated step by step.', {
      partition: pointer(1, 'int32', { minimum: 0 }, 'Lowest number of the pods to update; those below keep the old template. Default 0: all.'),
      maxUnavailable: pointer(2, 'intstr.IntOrString', { featureGate: 'MaxUnavailableStatefulSet' }, 'Most pods that may be unavailable during the update: a number, or a percentage of the wanted number rounded up. Not 0. Default 1.'),
    }),
    StatefulSet: object('Runs numbered pods with stable names and storage of their own.', {
      spec: optional(2, 'StatefulSetSpec', 'What the object is meant to be.'),
      status: optional(3, 'StatefulSetStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    StatefulSetCondition: condition("One aspect of a StatefulSet's state."),
    StatefulSetPersistentVolumeClaimRetentionPolicy: message('What happens to the claims made from `volumeClaimTemplates`.', {
      whenDeleted: optional(1, 'string', { default: 'Retain', featureGate: 'StatefulSetAutoDeletePVC', enum: 'PersistentVolumeClaimRetentionPolicyType' }, 'When the StatefulSet is deleted: `Retain` keeps the claims, `Delete` deletes them with their pods.'),
      whenScaled: optional(2, 'string', { default: 'Retain', featureGate: 'StatefulSetAutoDeletePVC', enum: 'PersistentVolumeClaimRetentionPolicyType' }, 'When it is scaled down: `Retain` keeps the claims of removed pods, `Delete` deletes them.'),
    }),
    StatefulSetSpec: message('What a StatefulSet runs, and how it is updated. Only `replicas`, `template`, `updateStrategy`, `minReadySeconds` and `persistentVolumeClaimRetentionPolicy` can be changed.', {
      replicas: pointer(1, 'int32', { minimum: 0, default: 1 }, 'Number of pods wanted.'),
      selector: required(2, 'meta.v1.LabelSelector', { pointer: true }, 'Labels of the pods that count. Must match those of the template; cannot be changed.'),
      template: required(3, 'core.v1.PodTemplateSpec', 'The pods to run, named `<name>-<number>`. Their restart policy must be `Always`.'),
      volumeClaimTemplates: optional(4, 'core.v1.PersistentVolumeClaim[]', { ungated: ['AnyVolumeDataSource', 'RecoverVolumeExpansionFailure'] }, 'Claims to make for each pod; they keep their data when the pod is replaced. A claim wins over a volume of the same name in the template.'),
      serviceName: required(5, 'string', 'Name of the headless service that gives the pods their DNS names. It must exist already.'),
      podManagementPolicy: optional(6, 'string', { default: 'OrderedReady', enum: 'PodManagementPolicyType' }, '`OrderedReady` starts pods one after the other and stops them in reverse, `Parallel` all at once.'),
      updateStrategy: optional(7, 'StatefulSetUpdateStrategy', 'How pods are replaced when the template changes.'),
      revisionHistoryLimit: pointer(8, 'int32', { default: 10 }, 'Old revisions to keep for a rollback.'),
      minReadySeconds: optional(9, 'int32', { minimum: 0, featureGate: 'StatefulSetMinReadySeconds' }, 'Seconds that a pod must be ready without a container failing before it counts as available. Default 0.'),
      persistentVolumeClaimRetentionPolicy: pointer(10, 'StatefulSetPersistentVolumeClaimRetentionPolicy', { default: {}, featureGate: 'StatefulSetAutoDeletePVC' }, 'What happens to the claims made from `volumeClaimTemplates`. Default: they are kept.'),
    }),
    StatefulSetStatus: message('What was last observed of a StatefulSet.', {
      observedGeneration: optional(1, 'int64', { minimum: 0 }, 'Generation of the spec that this status describes.'),
      replicas: required(2, 'int32', { minimum: 0 }, 'Number of pods.'),
      readyReplicas: optional(3, 'int32', { minimum: 0 }, 'Pods that are ready.'),
      currentReplicas: optional(4, 'int32', { minimum: 0 }, 'Pods of the current revision.'),
      updatedReplicas: optional(5, 'int32', { minimum: 0 }, 'Pods of the updated revision.'),
      currentRevision: optional(6, 'string', 'Revision that the pods had before the update.'),
      updateRevision: optional(7, 'string', 'Revision that the pods are updated to.'),
      collisionCount: pointer(9, 'int32', { minimum: 0 }, 'Hash collisions so far, which go into the names of revisions.'),
      conditions: optional(10, 'StatefulSetCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
      availableReplicas: optional(11, 'int32', { minimum: 0, omitempty: false }, 'Pods that have been ready for `minReadySeconds`.'),
    }),
    StatefulSetUpdateStrategy: message('How the pods of a StatefulSet are replaced.', {
      type: optional(1, 'string', { enum: 'StatefulSetUpdateStrategyType' }, '`RollingUpdate` replaces pods from the highest number down, `OnDelete` only those that are deleted. Default `RollingUpdate`.'),
      rollingUpdate: pointer(2, 'RollingUpdateStatefulSetStrategy', 'Settings of `RollingUpdate`.'),
    }),
  },
  enums: {
    PersistentVolumeClaimRetentionPolicyType: ['Retain', 'Delete'],
    PodManagementPolicyType: ['OrderedReady', 'Parallel'],
    StatefulSetUpdateStrategyType: ['OnDelete', 'RollingUpdate'],
  },
  resources: [
    {
      resource: 'statefulsets',
      kind: 'StatefulSet',
      shortNames: ['sts'],
      categories: ['all'],
      subresources: [scale, 'status'],
      columns: ['Name', 'Ready', 'Age', ...wide('Containers', 'Images')],
    },
  ],
});

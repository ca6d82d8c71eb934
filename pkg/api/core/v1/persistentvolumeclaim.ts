import { atomic, condition, defineTypes, message, object, optional, pointer, required, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    PersistentVolumeClaim: object('A request for storage, which is bound to a PersistentVolume that fulfils it.', {
      spec: optional(2, 'PersistentVolumeClaimSpec', 'What the object is meant to be.'),
      status: optional(3, 'PersistentVolumeClaimStatus', { default: {} }, 'What was last observed of the object. Written by the system, never by users.'),
    }),
    PersistentVolumeClaimCondition: condition(
      "One aspect of a claim's state.",
      { type: { enum: 'PersistentVolumeClaimConditionType' }, status: { enum: 'ConditionStatus' } },
      {
        lastProbeTime: optional(3, 'meta.v1.Time', 'When the condition was last checked.'),
      },
    ),
    PersistentVolumeClaimSpec: message('What storage is wanted. Only the requested size can change later, and only grow.', {
      accessModes: optional(1, 'string[]', { enum: 'PersistentVolumeAccessMode' }, 'Ways in which the volume must be mountable: `ReadWriteOnce`, `ReadOnlyMany`, `ReadWriteMany` or `ReadWriteOncePod`.'),
      selector: pointer(4, 'meta.v1.LabelSelector', 'Labels that the volume must have.'),
      resources: optional(2, 'ResourceRequirements', 'Least size of the volume, as the request `storage`. Can be raised where the storage class allows it.'),
      volumeName: optional(3, 'string', 'Name of the bound volume. May be set beforehand to ask for that one.'),
      storageClassName: pointer(5, 'string', 'Name of the StorageClass that provides the volume. Empty: volumes without a class only. Default: the default class.'),
      volumeMode: pointer(6, 'string', { default: 'Filesystem', enum: 'PersistentVolumeMode' }, '`Filesystem` or `Block`.'),
      dataSource: pointer(7, 'TypedLocalObjectReference', 'What to fill the volume with: a VolumeSnapshot or another PersistentVolumeClaim. Kept equal to `dataSourceRef` where possible.'),
      dataSourceRef: pointer(8, 'TypedLocalObjectReference', { featureGate: 'AnyVolumeDataSource' }, 'What to fill the volume with: an object of any kind outside the core group, or a PersistentVolumeClaim.'),
    }),
    PersistentVolumeClaimStatus: message('What was last observed of a claim.', {
      phase: optional(1, 'string', { default: 'Pending', enum: 'PersistentVolumeClaimPhase' }, '`Pending`, `Bound` or `Lost` (its volume is gone).'),
      accessModes: optional(2, 'string[]', { enum: 'PersistentVolumeAccessMode' }, 'Ways in which the bound volume can be mounted.'),
      capacity: optional(3, 'map<string, resource.Quantity>', 'Actual size of the bound volume.'),
      conditions: optional(4, 'PersistentVolumeClaimCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
      allocatedResources: optional(5, 'map<string, resource.Quantity>', { featureGate: 'RecoverVolumeExpansionFailure' }, 'Size that was last asked of the storage; may be more than the actual size.'),
      resizeStatus: pointer(6, 'string', { enum: 'PersistentVolumeClaimResizeStatus', featureGate: 'RecoverVolumeExpansionFailure' }, 'How far enlarging has come: empty, or the step that goes on or has failed.'),
    }),
    PersistentVolumeClaimTemplate: message('A claim to be made for each pod.', {
      metadata: optional(1, 'meta.v1.ObjectMeta', 'Labels and annotations of the claim.'),
      spec: required(2, 'PersistentVolumeClaimSpec', 'What storage is wanted.'),
    }),
    PersistentVolumeClaimVolumeSource: message('A claim of the same namespace.', {
      claimName: required(1, 'string', 'Name of the claim.'),
      readOnly: optional(2, 'bool', 'Mounts the volume read-only everywhere. Default false.'),
    }),
    TypedLocalObjectReference: atomic('A reference to an object of any kind in the same namespace.', {
      apiGroup: pointer(1, 'string', { omitempty: false }, "Group of the object's kind. Default: the core group."),
      kind: required(2, 'string', 'Kind of the object.'),
      name: required(3, 'string', 'Name of the object.'),
    }),
  },
  enums: {
    PersistentVolumeClaimConditionType: ['FileSystemResizePending', 'Resizing'],
    PersistentVolumeClaimPhase: ['Bound', 'Lost', 'Pending'],
    PersistentVolumeClaimResizeStatus: ['', 'ControllerExpansionFailed', 'ControllerExpansionInProgress', 'NodeExpansionFailed', 'NodeExpansionInProgress', 'NodeExpansionPending'],
  },
  resources: [
    {
      resource: 'persistentvolumeclaims',
      kind: 'PersistentVolumeClaim',
      shortNames: ['pvc'],
      subresources: ['status'],
      columns: ['Name', 'Status', 'Volume', 'Capacity', 'Access Modes', 'StorageClass', 'Age', ...wide('VolumeMode')],
    },
  ],
});

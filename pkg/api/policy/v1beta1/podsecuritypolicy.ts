import type { FieldDeclaration, KindDeclaration } from '#apimachinery/schema/schema.js';

const optional = { omitempty: true, optional: true } as const;

function flag(number: number, doc: string): FieldDeclaration {
  return { number, type: 'bool', ...optional, doc };
}

function words(number: number, doc: string): FieldDeclaration {
  return { number, type: 'string', repeated: true, ...optional, doc };
}

function ranges(doc: string): FieldDeclaration {
  return { number: 2, type: 'IDRange', repeated: true, ...optional, doc };
}

/** Kept and served for those who have them: what they said is now said by labels of namespaces. */
export const declaration: KindDeclaration = {
  types: {
    AllowedCSIDriver: { name: { number: 1, type: 'string', doc: 'Registered name of the driver.' } },
    AllowedFlexVolume: { driver: { number: 1, type: 'string', doc: 'Name of the driver.' } },
    AllowedHostPath: {
      pathPrefix: {
        number: 1,
        type: 'string',
        ...optional,
        doc: 'Beginning of the paths, which ends where a path element does: `/foo` allows `/foo/bar` and not `/food`.',
      },
      readOnly: flag(2, 'Whether such volumes must be mounted for reading only. Default false.'),
    },
    FSGroupStrategyOptions: {
      rule: {
        number: 1,
        type: 'string',
        enum: 'FSGroupStrategyType',
        ...optional,
        doc: 'Whether a group of the ranges must be used: `MayRunAs`, `MustRunAs` or `RunAsAny`.',
      },
      ranges: ranges('Groups that are allowed.'),
    },
    HostPortRange: {
      min: { number: 1, type: 'int32', doc: 'First port.' },
      max: { number: 2, type: 'int32', doc: 'Last port.' },
    },
    IDRange: {
      min: { number: 1, type: 'int64', doc: 'First ID.' },
      max: { number: 2, type: 'int64', doc: 'Last ID.' },
    },
    PodSecurityPolicy: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        ...optional,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'PodSecurityPolicySpec', ...optional, doc: 'What the object is meant to be.' },
    },
    PodSecurityPolicyList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        ...optional,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'PodSecurityPolicy', repeated: true, doc: 'The objects of the list.' },
    },
    PodSecurityPolicySpec: {
      privileged: flag(1, 'Whether containers may be privileged. Default false.'),
      defaultAddCapabilities: words(
        2,
        'Capabilities that containers get unless they drop them. Not together with the same in `requiredDropCapabilities`.',
      ),
      requiredDropCapabilities: words(3, 'Capabilities that are taken from containers and may not be added.'),
      allowedCapabilities: words(4, 'Capabilities that containers may ask for; `*` allows all.'),
      volumes: {
        ...words(5, 'Types of volumes that are allowed; `*` allows all, an empty list none.'),
        enum: 'FSType',
      },
      hostNetwork: flag(6, "Whether pods may use the node's network. Default false."),
      hostPorts: {
        number: 7,
        type: 'HostPortRange',
        repeated: true,
        ...optional,
        doc: 'Ports of the node that pods may take.',
      },
      hostPID: flag(8, "Whether pods may see the node's processes. Default false."),
      hostIPC: flag(9, "Whether pods may use the node's shared memory and semaphores. Default false."),
      seLinux: { number: 10, type: 'SELinuxStrategyOptions', doc: 'Which SELinux labels are allowed.' },
      runAsUser: { number: 11, type: 'RunAsUserStrategyOptions', doc: 'Which users containers may run as.' },
      runAsGroup: {
        number: 22,
        type: 'RunAsGroupStrategyOptions',
        pointer: true,
        ...optional,
        doc: 'Which primary groups containers may run as. Unset: any.',
      },
      supplementalGroups: {
        number: 12,
        type: 'SupplementalGroupsStrategyOptions',
        doc: 'Which further groups containers may have.',
      },
      fsGroup: { number: 13, type: 'FSGroupStrategyOptions', doc: 'Which groups may own volumes.' },
      readOnlyRootFilesystem: flag(14, 'Whether the root file systems of containers must be read-only. Default false.'),
      defaultAllowPrivilegeEscalation: {
        ...flag(15, 'Whether a process may gain more privileges than its parent when the container does not say.'),
        pointer: true,
      },
      allowPrivilegeEscalation: {
        ...flag(16, 'Whether containers may let processes gain more privileges than their parents. Default true.'),
        pointer: true,
      },
      allowedHostPaths: {
        number: 17,
        type: 'AllowedHostPath',
        repeated: true,
        ...optional,
        doc: 'Paths of the node that pods may mount. Empty: all.',
      },
      allowedFlexVolumes: {
        number: 18,
        type: 'AllowedFlexVolume',
        repeated: true,
        ...optional,
        doc: 'Flexible volumes that are allowed. Empty: all. Counts only where `volumes` allows the type.',
      },
      allowedCSIDrivers: {
        number: 23,
        type: 'AllowedCSIDriver',
        repeated: true,
        ...optional,
        featureGate: 'CSIInlineVolume',
        doc: 'Storage drivers whose inline volumes are allowed. Empty: all. Counts only where `volumes` allows the type.',
      },
      allowedUnsafeSysctls: words(
        19,
        'Kernel parameters that are allowed besides the safe ones; one that ends with `*` stands for all that begin so.',
      ),
      forbiddenSysctls: words(
        20,
        'Kernel parameters that are not allowed; one that ends with `*` stands for all that begin so.',
      ),
      allowedProcMountTypes: {
        ...words(21, 'Ways of mounting `/proc` that are allowed. Empty: only `Default`.'),
        featureGate: 'ProcMountType',
      },
      runtimeClass: {
        number: 24,
        type: 'RuntimeClassStrategyOptions',
        pointer: true,
        ...optional,
        doc: 'Which runtime classes pods may name. Unset: any.',
      },
    },
    RunAsGroupStrategyOptions: {
      rule: {
        number: 1,
        type: 'string',
        enum: 'RunAsGroupStrategy',
        doc: 'Whether a group of the ranges must be used: `MayRunAs`, `MustRunAs` or `RunAsAny`.',
      },
      ranges: ranges('Groups that are allowed.'),
    },
    RunAsUserStrategyOptions: {
      rule: {
        number: 1,
        type: 'string',
        enum: 'RunAsUserStrategy',
        doc: 'Which users are allowed: those of the ranges (`MustRunAs`), all but root (`MustRunAsNonRoot`), all (`RunAsAny`).',
      },
      ranges: ranges('Users that are allowed.'),
    },
    RuntimeClassStrategyOptions: {
      allowedRuntimeClassNames: {
        number: 1,
        type: 'string',
        repeated: true,
        doc: 'Names that pods may use; `*` allows all, an empty list only pods without one.',
      },
      defaultRuntimeClassName: {
        number: 2,
        type: 'string',
        pointer: true,
        ...optional,
        doc: 'Name for pods without one, which must be allowed too.',
      },
    },
    SELinuxStrategyOptions: {
      rule: {
        number: 1,
        type: 'string',
        enum: 'SELinuxStrategy',
        doc: 'Whether `seLinuxOptions` must be used (`MustRunAs`) or anything may (`RunAsAny`).',
      },
      seLinuxOptions: {
        number: 2,
        type: 'core.v1.SELinuxOptions',
        pointer: true,
        ...optional,
        doc: 'Labels that must be used.',
      },
    },
    SupplementalGroupsStrategyOptions: {
      rule: {
        number: 1,
        type: 'string',
        enum: 'SupplementalGroupsStrategyType',
        ...optional,
        doc: 'Whether groups must be of the ranges: `MayRunAs`, `MustRunAs` or `RunAsAny`.',
      },
      ranges: ranges('Groups that are allowed.'),
    },
  },
  docs: {
    AllowedCSIDriver: 'A storage driver whose inline volumes are allowed.',
    AllowedFlexVolume: 'A driver of flexible volumes that is allowed.',
    AllowedHostPath: 'Paths of the node that pods may mount.',
    FSGroupStrategyOptions: 'Which groups may own volumes.',
    HostPortRange: 'A range of ports of the node, both ends included.',
    IDRange: 'A range of users or groups, both ends included.',
    PodSecurityPolicy: 'What pods may ask for. Kept and served, but no longer acted on: namespaces say it with labels.',
    PodSecurityPolicyList: 'A list of PodSecurityPolicy objects.',
    PodSecurityPolicySpec: 'What pods may ask for.',
    RunAsGroupStrategyOptions: 'Which primary groups containers may run as.',
    RunAsUserStrategyOptions: 'Which users containers may run as.',
    RuntimeClassStrategyOptions: 'Which runtime classes pods may name.',
    SELinuxStrategyOptions: 'Which SELinux labels are allowed.',
    SupplementalGroupsStrategyOptions: 'Which further groups containers may have.',
  },
  enums: {
    FSGroupStrategyType: ['MayRunAs', 'MustRunAs', 'RunAsAny'],
    FSType: [
      '*',
      'awsElasticBlockStore',
      'azureDisk',
      'azureFile',
      'cephFS',
      'cinder',
      'configMap',
      'csi',
      'downwardAPI',
      'emptyDir',
      'ephemeral',
      'fc',
      'flexVolume',
      'flocker',
      'gcePersistentDisk',
      'gitRepo',
      'glusterfs',
      'hostPath',
      'iscsi',
      'nfs',
      'persistentVolumeClaim',
      'photonPersistentDisk',
      'portworxVolume',
      'projected',
      'quobyte',
      'rbd',
      'scaleIO',
      'secret',
      'storageos',
      'vsphereVolume',
    ],
    RunAsGroupStrategy: ['MayRunAs', 'MustRunAs', 'RunAsAny'],
    RunAsUserStrategy: ['MustRunAs', 'MustRunAsNonRoot', 'RunAsAny'],
    SELinuxStrategy: ['MustRunAs', 'RunAsAny'],
    SupplementalGroupsStrategyType: ['MayRunAs', 'MustRunAs', 'RunAsAny'],
  },
  resources: [
    {
      resource: 'podsecuritypolicies',
      singular: 'podsecuritypolicy',
      kind: 'PodSecurityPolicy',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['psp'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Priv', type: 'string' },
        { name: 'Caps', type: 'string' },
        { name: 'Selinux', type: 'string' },
        { name: 'RunAsUser', type: 'string' },
        { name: 'FsGroup', type: 'string' },
        { name: 'SupGroup', type: 'string' },
        { name: 'ReadOnlyRootFs', type: 'string' },
        { name: 'Volumes', type: 'string' },
      ],
      deprecation: { since: '1.21', until: '1.25' },
    },
  ],
};

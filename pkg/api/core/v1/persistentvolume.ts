import { atomic, defineTypes, inlined, message, object, optional, pointer, union, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    PersistentVolume: object('A piece of storage in the cluster that lives apart from the pods that use it.', {
      spec: optional(2, 'PersistentVolumeSpec', 'What the object is meant to be.'),
      status: optional(3, 'PersistentVolumeStatus', { default: {} }, 'What was last observed of the object. Written by the system, never by users.'),
    }),
    PersistentVolumeSource: union('Where the storage is. Cannot be changed later.', {
      hostPath: pointer(3, 'HostPathVolumeSource', 'A directory of the node; for tests on a single node only.'),
      gcePersistentDisk: pointer(1, 'GCEPersistentDiskVolumeSource', 'A persistent disk of Google Compute Engine.'),
      awsElasticBlockStore: pointer(2, 'AWSElasticBlockStoreVolumeSource', 'A disk of AWS EBS.'),
      glusterfs: pointer(4, 'GlusterfsPersistentVolumeSource', 'A Gluster volume.'),
      flocker: pointer(11, 'FlockerVolumeSource', 'A Flocker volume.'),
      nfs: pointer(5, 'NFSVolumeSource', 'A directory of an NFS server.'),
      rbd: pointer(6, 'RBDPersistentVolumeSource', 'A Ceph RADOS block device.'),
      quobyte: pointer(15, 'QuobyteVolumeSource', 'A Quobyte volume.'),
      cephfs: pointer(9, 'CephFSPersistentVolumeSource', 'A Ceph file system.'),
      iscsi: pointer(7, 'ISCSIPersistentVolumeSource', 'A disk reached over iSCSI.'),
      cinder: pointer(8, 'CinderPersistentVolumeSource', 'An OpenStack Cinder volume.'),
      fc: pointer(10, 'FCVolumeSource', 'A disk reached over Fibre Channel.'),
      flexVolume: pointer(12, 'FlexPersistentVolumeSource', 'A volume of a FlexVolume driver. Deprecated.'),
      azureFile: pointer(13, 'AzureFilePersistentVolumeSource', 'A share of Azure File.'),
      vsphereVolume: pointer(14, 'VsphereVirtualDiskVolumeSource', 'A virtual disk of vSphere.'),
      photonPersistentDisk: pointer(17, 'PhotonPersistentDiskVolumeSource', 'A disk of a Photon controller.'),
      portworxVolume: pointer(18, 'PortworxVolumeSource', 'A Portworx volume.'),
      azureDisk: pointer(16, 'AzureDiskVolumeSource', 'An Azure data disk.'),
      scaleIO: pointer(19, 'ScaleIOPersistentVolumeSource', 'A ScaleIO volume.'),
      local: pointer(20, 'LocalVolumeSource', 'A disk or directory of one node.'),
      storageos: pointer(21, 'StorageOSPersistentVolumeSource', 'A StorageOS volume.'),
      csi: pointer(22, 'CSIPersistentVolumeSource', 'A volume of a CSI driver.'),
    }),
    PersistentVolumeSpec: message('What a PersistentVolume is, and how it may be used.', {
      capacity: optional(1, 'map<string, resource.Quantity>', { keepsEmpty: true }, 'Size of the volume, as `storage`.'),
      '~persistentVolumeSource': inlined(2, 'PersistentVolumeSource'),
      accessModes: optional(3, 'string[]', { enum: 'PersistentVolumeAccessMode' }, 'Ways in which the volume can be mounted: `ReadWriteOnce` by one node, `ReadOnlyMany` and `ReadWriteMany` by many, `ReadWriteOncePod` by one pod.'),
      claimRef: pointer(4, 'ObjectReference', 'The claim that the volume is bound to. May be set beforehand to reserve the volume.'),
      persistentVolumeReclaimPolicy: optional(5, 'string', { default: 'Retain', enum: 'PersistentVolumeReclaimPolicy' }, 'What happens to the volume once its claim is gone: `Retain`, `Delete` or `Recycle` (deprecated).'),
      storageClassName: optional(6, 'string', 'Name of the StorageClass that the volume belongs to. Empty: none.'),
      mountOptions: optional(7, 'string[]', 'Options for mounting, such as `ro` or `soft`. They are not checked; a wrong one makes mounting fail.'),
      volumeMode: pointer(8, 'string', { default: 'Filesystem', enum: 'PersistentVolumeMode' }, '`Filesystem` or `Block`.'),
      nodeAffinity: pointer(9, 'VolumeNodeAffinity', 'Nodes from which the volume can be reached. Default: all.'),
    }),
    PersistentVolumeStatus: message('What was last observed of a PersistentVolume.', {
      phase: optional(1, 'string', { default: 'Pending', enum: 'PersistentVolumePhase' }, '`Pending`, `Available`, `Bound`, `Released` (its claim is gone) or `Failed`.'),
      message: optional(2, 'string', 'Details on the phase, for people.'),
      reason: optional(3, 'string', 'Why it failed, in one word.'),
    }),
    SecretReference: atomic('A reference to a secret.', {
      name: optional(1, 'string', 'Name of the secret.'),
      namespace: optional(2, 'string', 'Namespace of the secret.'),
    }),
    VolumeNodeAffinity: message('Nodes from which a volume can be reached.', {
      required: pointer(1, 'NodeSelector', 'Nodes that qualify.'),
    }),
  },
  enums: {
    PersistentVolumeAccessMode: ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'],
    PersistentVolumeMode: ['Block', 'Filesystem'],
    PersistentVolumePhase: ['Available', 'Bound', 'Failed', 'Pending', 'Released'],
    PersistentVolumeReclaimPolicy: ['Delete', 'Recycle', 'Retain'],
  },
  resources: [
    {
      resource: 'persistentvolumes',
      kind: 'PersistentVolume',
      namespaced: false,
      shortNames: ['pv'],
      subresources: ['status'],
      columns: ['Name', 'Capacity', 'Access Modes', 'Reclaim Policy', 'Status', 'Claim', 'StorageClass', 'Reason', 'Age', ...wide('VolumeMode')],
    },
  ],
});

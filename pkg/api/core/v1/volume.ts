import { defineTypes, inlined, message, optional, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    CSIVolumeSource: message('A volume that a CSI driver makes for the pod and that goes with it.', {
      driver: required(1, 'string', 'Name of the driver.'),
      readOnly: pointer(2, 'bool', 'Mounts the volume read-only. Default false.'),
      fsType: pointer(3, 'string', "File system to mount. Default: the driver's choice."),
      volumeAttributes: optional(4, 'map<string, string>', 'Properties of the volume for the driver.'),
      nodePublishSecretRef: pointer(5, 'LocalObjectReference', "Secret that the driver gets to mount the volume, in the pod's namespace."),
    }),
    EmptyDirVolumeSource: message('A directory that starts empty and is deleted with the pod.', {
      medium: optional(1, 'string', { enum: 'StorageMedium' }, "Where the data is kept: empty for the node's storage, `Memory`, `HugePages` or `HugePages-<size>`. Default empty."),
      sizeLimit: pointer(2, 'resource.Quantity', { featureGate: 'LocalStorageCapacityIsolation' }, 'Most that the directory may hold; the pod is evicted beyond it. Default: no limit.'),
    }),
    EphemeralVolumeSource: message('A volume that is provided for the pod through a claim and deleted with it.', {
      volumeClaimTemplate: pointer(1, 'PersistentVolumeClaimTemplate', 'The claim to make, named `<pod>-<volume>` and owned by the pod.'),
    }),
    GitRepoVolumeSource: message('A clone of a git repository. Deprecated; clone in an init container instead.', {
      repository: required(1, 'string', 'URL of the repository.'),
      revision: optional(2, 'string', 'Commit to check out. Default: the head of the default branch.'),
      directory: optional(3, 'string', 'Directory to clone into, `.` for the volume itself. Default: named after the repository. No `..`.'),
    }),
    HostPathVolumeSource: message('A file or directory of the node. Gives the pod access to the node; use with care.', {
      path: required(1, 'string', 'Path on the node. Links are followed.'),
      type: pointer(2, 'string', { default: '', enum: 'HostPathType' }, 'What must be there: `Directory`, `File`, `Socket`, `CharDevice`, `BlockDevice`, or what is made if absent: `DirectoryOrCreate`, `FileOrCreate`. Default empty: no check.'),
    }),
    Volume: message('A named volume that containers of the pod can mount.', {
      name: required(1, 'string', 'Name of the volume, a DNS label that is unique in the pod.'),
      '~volumeSource': inlined(2, 'VolumeSource'),
    }),
    VolumeSource: union('Where the data of a volume comes from.', {
      emptyDir: pointer(2, 'EmptyDirVolumeSource', 'A directory that starts empty and is deleted with the pod.'),
      hostPath: pointer(1, 'HostPathVolumeSource', 'A file or directory of the node.'),
      gitRepo: pointer(5, 'GitRepoVolumeSource', 'A clone of a git repository. Deprecated.'),
      gcePersistentDisk: pointer(3, 'GCEPersistentDiskVolumeSource', 'A persistent disk of Google Compute Engine.'),
      awsElasticBlockStore: pointer(4, 'AWSElasticBlockStoreVolumeSource', 'A disk of AWS EBS.'),
      secret: pointer(6, 'SecretVolumeSource', 'Files with the values of a Secret.'),
      nfs: pointer(7, 'NFSVolumeSource', 'A directory of an NFS server.'),
      iscsi: pointer(8, 'ISCSIVolumeSource', 'A disk reached over iSCSI.'),
      glusterfs: pointer(9, 'GlusterfsVolumeSource', 'A Gluster volume.'),
      flocker: pointer(15, 'FlockerVolumeSource', 'A Flocker volume.'),
      persistentVolumeClaim: pointer(10, 'PersistentVolumeClaimVolumeSource', "The volume of a claim in the pod's namespace."),
      rbd: pointer(11, 'RBDVolumeSource', 'A Ceph RADOS block device.'),
      cinder: pointer(13, 'CinderVolumeSource', 'An OpenStack Cinder volume.'),
      cephfs: pointer(14, 'CephFSVolumeSource', 'A Ceph file system.'),
      quobyte: pointer(21, 'QuobyteVolumeSource', 'A Quobyte volume.'),
      downwardAPI: pointer(16, 'DownwardAPIVolumeSource', 'Files with facts about the pod.'),
      fc: pointer(17, 'FCVolumeSource', 'A disk reached over Fibre Channel.'),
      flexVolume: pointer(12, 'FlexVolumeSource', 'A volume of a FlexVolume driver. Deprecated.'),
      configMap: pointer(19, 'ConfigMapVolumeSource', 'Files with the values of a ConfigMap.'),
      azureFile: pointer(18, 'AzureFileVolumeSource', 'A share of Azure File.'),
      vsphereVolume: pointer(20, 'VsphereVirtualDiskVolumeSource', 'A virtual disk of vSphere.'),
      photonPersistentDisk: pointer(23, 'PhotonPersistentDiskVolumeSource', 'A disk of a Photon controller.'),
      portworxVolume: pointer(24, 'PortworxVolumeSource', 'A Portworx volume.'),
      azureDisk: pointer(22, 'AzureDiskVolumeSource', 'An Azure data disk.'),
      storageos: pointer(27, 'StorageOSVolumeSource', 'A StorageOS volume.'),
      projected: pointer(26, 'ProjectedVolumeSource', 'Files of several sources in one directory.'),
      scaleIO: pointer(25, 'ScaleIOVolumeSource', 'A ScaleIO volume.'),
      csi: pointer(28, 'CSIVolumeSource', { featureGate: 'CSIInlineVolume' }, 'A volume that a CSI driver makes for the pod.'),
      ephemeral: pointer(29, 'EphemeralVolumeSource', 'A volume that is provided through a claim and deleted with the pod.'),
    }),
  },
  enums: {
    HostPathType: ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'],
    StorageMedium: ['', 'HugePages', 'HugePages-', 'Memory'],
  },
});

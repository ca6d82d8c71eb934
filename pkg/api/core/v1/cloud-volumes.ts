import { defineTypes, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    AWSElasticBlockStoreVolumeSource: message('A disk of AWS EBS, in the same zone as the node.', {
      volumeID: required(1, 'string', 'Identity of the disk at AWS.'),
      fsType: optional(2, 'string', 'File system to mount: `ext4`, `xfs` or `ntfs`. Default `ext4`.'),
      partition: optional(3, 'int32', { minimum: 1, maximum: 255 }, 'Partition to mount; 0 is the whole disk. Default 0.'),
      readOnly: optional(4, 'bool', 'Mounts the volume read-only. Default false.'),
    }),
    AzureDiskVolumeSource: message('An Azure data disk.', {
      diskName: required(1, 'string', 'Name of the disk in the blob storage.'),
      diskURI: required(2, 'string', 'URI of the disk in the blob storage.'),
      cachingMode: pointer(3, 'string', { default: 'ReadWrite', enum: 'AzureDataDiskCachingMode' }, 'Caching on the host: `None`, `ReadOnly` or `ReadWrite`.'),
      fsType: pointer(4, 'string', { default: 'ext4' }, 'File system to mount.'),
      readOnly: pointer(5, 'bool', { default: false }, 'Mounts the volume read-only.'),
      kind: pointer(6, 'string', { default: 'Shared', enum: 'AzureDataDiskKind' }, '`Shared`: many blob disks per account. `Dedicated`: one blob disk per account. `Managed`: a managed disk.'),
    }),
    AzureFileVolumeSource: message('A share of Azure File.', {
      secretName: required(1, 'string', "Secret with name and key of the storage account, in the pod's namespace."),
      shareName: required(2, 'string', 'Name of the share.'),
      readOnly: optional(3, 'bool', 'Mounts the volume read-only. Default false.'),
    }),
    CinderVolumeSource: message('An OpenStack Cinder volume, in the same zone as the node.', {
      volumeID: required(1, 'string', 'Identity of the volume in Cinder.'),
      fsType: optional(2, 'string', 'File system to mount. Default `ext4`.'),
      readOnly: optional(3, 'bool', 'Mounts the volume read-only. Default false.'),
      secretRef: pointer(4, 'LocalObjectReference', 'Secret with parameters to reach OpenStack.'),
    }),
    GCEPersistentDiskVolumeSource: message('A persistent disk of Google Compute Engine, in the same zone as the node.', {
      pdName: required(1, 'string', 'Name of the disk.'),
      fsType: optional(2, 'string', 'File system to mount: `ext4`, `xfs` or `ntfs`. Default `ext4`.'),
      partition: optional(3, 'int32', { minimum: 1, maximum: 255 }, 'Partition to mount; 0 is the whole disk. Default 0.'),
      readOnly: optional(4, 'bool', 'Mounts the volume read-only. Default false.'),
    }),
    PhotonPersistentDiskVolumeSource: message('A disk of a Photon controller.', {
      pdID: required(1, 'string', 'Identity of the disk.'),
      fsType: optional(2, 'string', 'File system to mount. Default `ext4`.'),
    }),
    VsphereVirtualDiskVolumeSource: message('A virtual disk of vSphere.', {
      volumePath: required(1, 'string', "Path of the disk's file."),
      fsType: optional(2, 'string', 'File system to mount. Default `ext4`.'),
      storagePolicyName: optional(3, 'string', 'Name of the storage policy.'),
      storagePolicyID: optional(4, 'string', 'Identity of the storage policy.'),
    }),
  },
  enums: {
    AzureDataDiskCachingMode: ['None', 'ReadOnly', 'ReadWrite'],
    AzureDataDiskKind: ['Dedicated', 'Managed', 'Shared'],
  },
});

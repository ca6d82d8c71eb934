import { declaration as networkVolumes } from '#api/core/v1/network-volumes.js';
import { defineTypes, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    AzureFilePersistentVolumeSource: message('A share of Azure File.', {
      secretName: required(1, 'string', 'Secret with name and key of the storage account.'),
      shareName: required(2, 'string', 'Name of the share.'),
      readOnly: optional(3, 'bool', 'Mounts the volume read-only. Default false.'),
      secretNamespace: pointer(4, 'string', { omitempty: false }, 'Namespace of the secret. Default: that of the claim.'),
    }),
    CSIPersistentVolumeSource: message('A volume of a CSI driver.', {
      driver: required(1, 'string', 'Name of the driver.'),
      volumeHandle: required(2, 'string', 'Identity of the volume as the driver gave it. Cannot be changed.'),
      readOnly: optional(3, 'bool', 'Makes the volume read-only. Default false.'),
      fsType: optional(4, 'string', "File system to mount, such as `ext4`. Default: the driver's choice."),
      volumeAttributes: optional(5, 'map<string, string>', 'Properties of the volume for the driver.'),
      controllerPublishSecretRef: pointer(6, 'SecretReference', 'Secret that the driver gets to attach and detach the volume.'),
      nodeStageSecretRef: pointer(7, 'SecretReference', 'Secret that the driver gets to prepare the volume on a node.'),
      nodePublishSecretRef: pointer(8, 'SecretReference', 'Secret that the driver gets to mount the volume for a pod.'),
      controllerExpandSecretRef: pointer(9, 'SecretReference', 'Secret that the driver gets to enlarge the volume.'),
    }),
    CephFSPersistentVolumeSource: message('A Ceph file system.', {
      ...networkVolumes.types.CephFSVolumeSource.fields,
      secretRef: pointer(5, 'SecretReference', "Secret with the user's key; wins over `secretFile`."),
    }),
    CinderPersistentVolumeSource: message('An OpenStack Cinder volume.', {
      volumeID: required(1, 'string', 'Identity of the volume in Cinder.'),
      fsType: optional(2, 'string', 'File system to mount. Default `ext4`.'),
      readOnly: optional(3, 'bool', 'Mounts the volume read-only. Default false.'),
      secretRef: pointer(4, 'SecretReference', 'Secret with parameters to reach OpenStack.'),
    }),
    FlexPersistentVolumeSource: message('A volume of a FlexVolume driver. Deprecated.', {
      ...networkVolumes.types.FlexVolumeSource.fields,
      secretRef: pointer(3, 'SecretReference', 'Secret with confidential data for the driver.'),
    }),
    GlusterfsPersistentVolumeSource: message('A Gluster volume.', {
      endpoints: required(1, 'string', 'Name of the Endpoints object that lists the Gluster servers.'),
      path: required(2, 'string', 'Name of the Gluster volume.'),
      readOnly: optional(3, 'bool', 'Mounts the volume read-only. Default false.'),
      endpointsNamespace: pointer(4, 'string', 'Namespace of the Endpoints object. Default: that of the claim.'),
    }),
    ISCSIPersistentVolumeSource: message('A disk reached over iSCSI.', {
      ...networkVolumes.types.ISCSIVolumeSource.fields,
      secretRef: pointer(10, 'SecretReference', 'Secret with the CHAP credentials.'),
    }),
    LocalVolumeSource: message('A disk, partition or directory of one node. Needs a node affinity.', {
      path: required(1, 'string', 'Path on the node of a directory or block device.'),
      fsType: pointer(2, 'string', 'File system to mount where the path is a block device. Default: detected.'),
    }),
    RBDPersistentVolumeSource: message('A Ceph RADOS block device.', {
      ...networkVolumes.types.RBDVolumeSource.fields,
      secretRef: pointer(7, 'SecretReference', "Secret with the user's key; wins over `keyring`."),
    }),
    ScaleIOPersistentVolumeSource: message('A ScaleIO volume.', {
      ...networkVolumes.types.ScaleIOVolumeSource.fields,
      secretRef: required(3, 'SecretReference', { pointer: true }, 'Secret with the credentials.'),
    }),
    StorageOSPersistentVolumeSource: message('A StorageOS volume.', {
      ...networkVolumes.types.StorageOSVolumeSource.fields,
      secretRef: pointer(5, 'ObjectReference', 'Secret with the credentials.'),
    }),
  },
});

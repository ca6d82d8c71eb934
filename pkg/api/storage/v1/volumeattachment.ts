import { defineTypes, message, object, optional, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    VolumeAttachment: object('Asks a driver to attach a volume to a node.', {
      spec: required(2, 'VolumeAttachmentSpec', { immutable: true }, 'What the object is meant to be.'),
      status: optional(3, 'VolumeAttachmentStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    VolumeAttachmentSource: union('The volume to attach.', {
      persistentVolumeName: pointer(1, 'string', 'Name of a PersistentVolume.'),
      inlineVolumeSpec: pointer(2, 'core.v1.PersistentVolumeSpec', 'A volume that stands within a pod.'),
    }),
    VolumeAttachmentSpec: message('What is to be attached, where and by whom. Cannot be changed.', {
      attacher: required(1, 'string', 'Name of the driver.'),
      source: required(2, 'VolumeAttachmentSource', 'The volume.'),
      nodeName: required(3, 'string', 'Node to attach it to.'),
    }),
    VolumeAttachmentStatus: message('How far attaching has come.', {
      attached: required(1, 'bool', 'Whether the volume is attached.'),
      attachmentMetadata: optional(2, 'map<string, string>', 'What the driver tells the node about the attached volume.'),
      attachError: pointer(3, 'VolumeError', 'Why attaching last failed.'),
      detachError: pointer(4, 'VolumeError', 'Why detaching last failed.'),
    }),
    VolumeError: message('A failure of a driver.', {
      time: optional(1, 'meta.v1.Time', 'When it happened.'),
      message: optional(2, 'string', 'What happened. Must not contain secrets.'),
    }),
  },
  resources: [
    {
      resource: 'volumeattachments',
      kind: 'VolumeAttachment',
      namespaced: false,
      subresources: ['status'],
      columns: ['Name', { name: 'Attacher', type: 'string', format: 'name' }, 'PV', 'Node', { name: 'Attached', type: 'boolean' }, 'Age'],
    },
  ],
});

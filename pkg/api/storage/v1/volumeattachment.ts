import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    VolumeAttachment: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'VolumeAttachmentSpec', doc: 'What the object is meant to be.' },
      status: {
        number: 3,
        type: 'VolumeAttachmentStatus',
        omitempty: true,
        optional: true,
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
    VolumeAttachmentList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'VolumeAttachment', repeated: true, doc: 'The objects of the list.' },
    },
    VolumeAttachmentSource: {
      persistentVolumeName: {
        number: 1,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Name of a PersistentVolume.',
      },
      inlineVolumeSpec: {
        number: 2,
        type: 'core.v1.PersistentVolumeSpec',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'A volume that stands within a pod.',
      },
    },
    VolumeAttachmentSpec: {
      attacher: { number: 1, type: 'string', doc: 'Name of the driver.' },
      source: { number: 2, type: 'VolumeAttachmentSource', doc: 'The volume.' },
      nodeName: { number: 3, type: 'string', doc: 'Node to attach it to.' },
    },
    VolumeAttachmentStatus: {
      attached: { number: 1, type: 'bool', doc: 'Whether the volume is attached.' },
      attachmentMetadata: {
        number: 2,
        type: 'string',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'What the driver tells the node about the attached volume.',
      },
      attachError: {
        number: 3,
        type: 'VolumeError',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Why attaching last failed.',
      },
      detachError: {
        number: 4,
        type: 'VolumeError',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Why detaching last failed.',
      },
    },
    VolumeError: {
      time: { number: 1, type: 'meta.v1.Time', omitempty: true, optional: true, doc: 'When it happened.' },
      message: {
        number: 2,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'What happened. Must not contain secrets.',
      },
    },
  },
  docs: {
    VolumeAttachment: 'Asks a driver to attach a volume to a node.',
    VolumeAttachmentList: 'A list of VolumeAttachment objects.',
    VolumeAttachmentSource: 'The volume to attach. Exactly one member is set.',
    VolumeAttachmentSpec: 'What is to be attached, where and by whom. Cannot be changed.',
    VolumeAttachmentStatus: 'How far attaching has come.',
    VolumeError: 'A failure of a driver.',
  },
  resources: [
    {
      resource: 'volumeattachments',
      singular: 'volumeattachment',
      kind: 'VolumeAttachment',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      subresources: [{ name: 'status', kind: 'VolumeAttachment', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Attacher', type: 'string', format: 'name' },
        { name: 'PV', type: 'string' },
        { name: 'Node', type: 'string' },
        { name: 'Attached', type: 'boolean' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    VolumeAttachment: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'VolumeAttachmentSpec' },
      status: { number: 3, type: 'VolumeAttachmentStatus', omitempty: true, optional: true },
    },
    VolumeAttachmentList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'VolumeAttachment', repeated: true },
    },
    VolumeAttachmentSource: {
      persistentVolumeName: { number: 1, type: 'string', pointer: true, omitempty: true, optional: true },
      inlineVolumeSpec: {
        number: 2,
        type: 'core.v1.PersistentVolumeSpec',
        pointer: true,
        omitempty: true,
        optional: true,
      },
    },
    VolumeAttachmentSpec: {
      attacher: { number: 1, type: 'string' },
      source: { number: 2, type: 'VolumeAttachmentSource' },
      nodeName: { number: 3, type: 'string' },
    },
    VolumeAttachmentStatus: {
      attached: { number: 1, type: 'bool' },
      attachmentMetadata: { number: 2, type: 'string', map: 'string', omitempty: true, optional: true },
      attachError: { number: 3, type: 'VolumeError', pointer: true, omitempty: true, optional: true },
      detachError: { number: 4, type: 'VolumeError', pointer: true, omitempty: true, optional: true },
    },
    VolumeError: {
      time: { number: 1, type: 'meta.v1.Time', omitempty: true, optional: true },
      message: { number: 2, type: 'string', omitempty: true, optional: true },
    },
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

import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ControllerRevision: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      data: {
        number: 2,
        type: 'runtime.RawExtension',
        omitempty: true,
        optional: true,
        doc: 'The state. Cannot be changed.',
      },
      revision: { number: 3, type: 'int64', doc: 'Number of the revision; higher is newer.' },
    },
    ControllerRevisionList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'ControllerRevision', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    ControllerRevision: 'A past or present state of a workload, kept to roll back to.',
    ControllerRevisionList: 'A list of ControllerRevision objects.',
  },
  resources: [
    {
      resource: 'controllerrevisions',
      singular: 'controllerrevision',
      kind: 'ControllerRevision',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Controller', type: 'string' },
        { name: 'Revision', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

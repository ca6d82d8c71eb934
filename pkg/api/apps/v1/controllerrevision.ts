import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ControllerRevision: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      data: { number: 2, type: 'runtime.RawExtension', omitempty: true, optional: true },
      revision: { number: 3, type: 'int64' },
    },
    ControllerRevisionList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ControllerRevision', repeated: true },
    },
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

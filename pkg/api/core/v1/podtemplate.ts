import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    PodTemplate: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      template: { number: 2, type: 'PodTemplateSpec', omitempty: true, optional: true },
    },
    PodTemplateList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'PodTemplate', repeated: true },
    },
    PodTemplateSpec: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'PodSpec', omitempty: true, optional: true },
    },
  },
  resources: [
    {
      resource: 'podtemplates',
      singular: 'podtemplate',
      kind: 'PodTemplate',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Containers', type: 'string' },
        { name: 'Images', type: 'string' },
        { name: 'Pod Labels', type: 'string' },
      ],
    },
  ],
};

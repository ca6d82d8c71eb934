import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    PodTemplate: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      template: { number: 2, type: 'PodTemplateSpec', omitempty: true, optional: true, doc: 'The pods to make.' },
    },
    PodTemplateList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'PodTemplate', repeated: true, doc: 'The objects of the list.' },
    },
    PodTemplateSpec: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Labels, annotations and finalizers of the pods. Names are given by the workload.',
      },
      spec: { number: 2, type: 'PodSpec', omitempty: true, optional: true, doc: 'What the pods are meant to be.' },
    },
  },
  docs: {
    PodTemplate: 'A description of pods to be made, kept as an object of its own.',
    PodTemplateList: 'A list of PodTemplate objects.',
    PodTemplateSpec: 'The pods that a workload makes.',
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

import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    PriorityClass: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      value: {
        number: 2,
        type: 'int32',
        doc: 'The priority; higher is more important. Cannot be changed. User classes go up to 1000000000.',
      },
      globalDefault: {
        number: 3,
        type: 'bool',
        omitempty: true,
        optional: true,
        doc: 'Whether pods without a class get this one. At most one class should say so. Default false.',
      },
      description: {
        number: 4,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'When to use the class, for people.',
      },
      preemptionPolicy: {
        number: 5,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: '`PreemptLowerPriority` lets pods of the class remove less important ones, `Never` does not. Cannot be changed. Default `PreemptLowerPriority`.',
      },
    },
    PriorityClassList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'PriorityClass', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    PriorityClass: 'A name for a priority of pods.',
    PriorityClassList: 'A list of PriorityClass objects.',
  },
  resources: [
    {
      resource: 'priorityclasses',
      singular: 'priorityclass',
      kind: 'PriorityClass',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['pc'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Value', type: 'integer' },
        { name: 'Global-Default', type: 'boolean' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ConfigMap: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      immutable: {
        number: 4,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Refuses every later change of `data` and `binaryData` when true. Cannot be unset again. Default false.',
      },
      data: {
        number: 2,
        type: 'string',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Text values by key. A key is letters, digits, `-`, `_` and `.`, and must not occur in `binaryData` too. All values together take at most 1 MiB.',
      },
      binaryData: {
        number: 3,
        type: 'bytes',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Values that are not UTF-8 text, in base64, by key. Keys follow the rules of `data`.',
      },
    },
    ConfigMapList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'ConfigMap', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    ConfigMap: 'Configuration data for pods, as key-value pairs. Not for confidential data; a Secret is.',
    ConfigMapList: 'A list of ConfigMap objects.',
  },
  resources: [
    {
      resource: 'configmaps',
      singular: 'configmap',
      kind: 'ConfigMap',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['cm'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Data', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

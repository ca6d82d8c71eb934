import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Secret: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      immutable: {
        number: 5,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Refuses every later change of the data when true. Cannot be unset again. Default false.',
      },
      data: {
        number: 2,
        type: 'bytes',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Values in base64, by key. A key is letters, digits, `-`, `_` and `.`. All values together take at most 1 MiB.',
      },
      stringData: {
        number: 4,
        type: 'string',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Values as plain text, by key, for convenience when writing. They are merged into `data`, winning over it, and never read back.',
      },
      type: {
        number: 3,
        type: 'string',
        omitempty: true,
        optional: true,
        enum: 'SecretType',
        doc: 'What kind of secret it is; some types require certain keys. Cannot be changed. Default `Opaque`.',
      },
    },
    SecretList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'Secret', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    Secret: 'Confidential data for pods, such as passwords, keys and tokens, as key-value pairs.',
    SecretList: 'A list of Secret objects.',
  },
  enums: {
    SecretType: [
      'Opaque',
      'bootstrap.orch.io/token',
      'orch.io/basic-auth',
      'orch.io/dockercfg',
      'orch.io/dockerconfigjson',
      'orch.io/service-account-token',
      'orch.io/ssh-auth',
      'orch.io/tls',
    ],
  },
  resources: [
    {
      resource: 'secrets',
      singular: 'secret',
      kind: 'Secret',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Type', type: 'string' },
        { name: 'Data', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

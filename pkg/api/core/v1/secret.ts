import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Secret: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      immutable: { number: 5, type: 'bool', pointer: true, omitempty: true, optional: true },
      data: { number: 2, type: 'bytes', map: 'string', omitempty: true, optional: true },
      stringData: { number: 4, type: 'string', map: 'string', omitempty: true, optional: true },
      type: { number: 3, type: 'string', omitempty: true, optional: true, enum: 'SecretType' },
    },
    SecretList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'Secret', repeated: true },
    },
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

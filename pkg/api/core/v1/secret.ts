import { defineTypes, object, optional, pointer } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Secret: object('Confidential data for pods, such as passwords, keys and tokens, as key-value pairs.', {
      immutable: pointer(5, 'bool', 'Refuses every later change of the data when true. Cannot be unset again. Default false.'),
      data: optional(2, 'map<string, bytes>', 'Values in base64, by key. A key is letters, digits, `-`, `_` and `.`. All values together take at most 1 MiB.'),
      stringData: optional(4, 'map<string, string>', 'Values as plain text, by key, for convenience when writing. They are merged into `data`, winning over it, and never read back.'),
      type: optional(3, 'string', { enum: 'SecretType' }, 'What kind of secret it is; some types require certain keys. Cannot be changed. Default `Opaque`.'),
    }),
  },
  enums: {
    SecretType: ['Opaque', 'bootstrap.orch.io/token', 'orch.io/basic-auth', 'orch.io/dockercfg', 'orch.io/dockerconfigjson', 'orch.io/service-account-token', 'orch.io/ssh-auth', 'orch.io/tls'],
  },
  resources: [
    {
      resource: 'secrets',
      kind: 'Secret',
      columns: ['Name', 'Type', 'Data', 'Age'],
    },
  ],
});

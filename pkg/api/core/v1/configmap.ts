import { defineTypes, object, optional, pointer } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ConfigMap: object('Configuration data for pods, as key-value pairs. Not for confidential data; a Secret is.', {
      immutable: pointer(4, 'bool', 'Refuses every later change of `data` and `binaryData` when true. Cannot be unset again. Default false.'),
      data: optional(2, 'map<string, string>', 'Text values by key. A key is letters, digits, `-`, `_` and `.`, and must not occur in `binaryData` too. All values together take at most 1 MiB.'),
      binaryData: optional(3, 'map<string, bytes>', 'Values that are not UTF-8 text, in base64, by key. Keys follow the rules of `data`.'),
    }),
  },
  resources: [
    {
      resource: 'configmaps',
      kind: 'ConfigMap',
      shortNames: ['cm'],
      columns: ['Name', 'Data', 'Age'],
    },
  ],
});

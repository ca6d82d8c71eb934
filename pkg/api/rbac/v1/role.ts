import { defineTypes, object, optional } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Role: object('A set of permissions within a namespace.', {
      rules: optional(2, 'PolicyRule[]', { omitempty: false }, 'The permissions.'),
    }),
  },
  resources: [
    {
      resource: 'roles',
      kind: 'Role',
      columns: ['Name', { name: 'Created At', type: 'date' }],
    },
  ],
});

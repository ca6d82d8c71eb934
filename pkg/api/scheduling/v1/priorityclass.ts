import { defineTypes, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    PriorityClass: object('A name for a priority of pods.', {
      value: required(2, 'int32', 'The priority; higher is more important. Cannot be changed. User classes go up to 1000000000.'),
      globalDefault: optional(3, 'bool', 'Whether pods without a class get this one. At most one class should say so. Default false.'),
      description: optional(4, 'string', 'When to use the class, for people.'),
      preemptionPolicy: pointer(5, 'string', { immutable: true, default: 'PreemptLowerPriority' }, '`PreemptLowerPriority` lets pods of the class remove less important ones, `Never` does not. Cannot be changed.'),
    }),
  },
  resources: [
    {
      resource: 'priorityclasses',
      kind: 'PriorityClass',
      namespaced: false,
      shortNames: ['pc'],
      columns: ['Name', { name: 'Value', type: 'integer' }, { name: 'Global-Default', type: 'boolean' }, 'Age'],
    },
  ],
});

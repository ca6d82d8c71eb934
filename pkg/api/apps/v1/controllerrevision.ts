import { defineTypes, object, optional, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ControllerRevision: object('A past or present state of a workload, kept to roll back to.', {
      data: optional(2, 'runtime.RawExtension', { immutable: true }, 'The state. Cannot be changed.'),
      revision: required(3, 'int64', { minimum: 0 }, 'Number of the revision; higher is newer.'),
    }),
  },
  resources: [
    {
      resource: 'controllerrevisions',
      kind: 'ControllerRevision',
      columns: ['Name', 'Controller', 'Revision', 'Age'],
    },
  ],
});

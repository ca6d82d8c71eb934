import { defineTypes, object, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    NodeMetrics: object('What a node uses.', {
      timestamp: required(2, 'meta.v1.Time', 'End of the time in which it was measured.'),
      window: required(3, 'meta.v1.Duration', 'Length of that time.'),
      usage: required(4, 'map<string, resource.Quantity>', 'Processor cores and bytes of memory in use, by resource.'),
    }),
  },
  resources: [
    {
      resource: 'nodes',
      kind: 'NodeMetrics',
      namespaced: false,
      verbs: ['get', 'list'],
      columns: ['Name', 'cpu', 'memory', 'Window'],
    },
  ],
});

import { defineTypes, message, object, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ContainerMetrics: message('What a container uses.', {
      name: required(1, 'string', 'Name of the container, as its pod has it.'),
      usage: required(2, 'map<string, resource.Quantity>', 'Processor cores and bytes of memory in use, by resource.'),
    }),
    PodMetrics: object('What the containers of a pod use.', {
      timestamp: required(2, 'meta.v1.Time', 'End of the time in which it was measured.'),
      window: required(3, 'meta.v1.Duration', 'Length of that time.'),
      containers: required(4, 'ContainerMetrics[]', 'Those of them that run and were measured.'),
    }),
  },
  resources: [
    {
      resource: 'pods',
      kind: 'PodMetrics',
      verbs: ['get', 'list'],
      columns: ['Name', 'cpu', 'memory', 'Window'],
    },
  ],
});

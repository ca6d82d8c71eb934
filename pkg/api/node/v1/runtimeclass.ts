import { defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Overhead: message('Resources that a way of running pods takes besides the containers.', {
      podFixed: optional(1, 'map<string, resource.Quantity>', 'Resources per pod, by resource name.'),
    }),
    RuntimeClass: object('A way of running containers that pods can ask for.', {
      handler: required(2, 'string', { immutable: true }, 'Name of the configuration of the container runtime; a DNS label. Cannot be changed.'),
      overhead: pointer(3, 'Overhead', 'Resources that each pod takes besides its containers.'),
      scheduling: pointer(4, 'Scheduling', 'Nodes that support this way of running. Default: all.'),
    }),
    Scheduling: message('Nodes that support a way of running pods.', {
      nodeSelector: optional(1, 'map<string, string>', { mapType: 'atomic' }, "Labels of those nodes; added to the pod's own selector, and a pod that contradicts is refused."),
      tolerations: optional(2, 'core.v1.Toleration[]', { listType: 'atomic' }, "Taints of those nodes; added to the pod's own tolerations."),
    }),
  },
  resources: [
    {
      resource: 'runtimeclasses',
      kind: 'RuntimeClass',
      namespaced: false,
      columns: ['Name', 'Handler', 'Age'],
    },
  ],
});

import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Overhead: {
      podFixed: {
        number: 1,
        type: 'resource.Quantity',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Resources per pod, by resource name.',
      },
    },
    RuntimeClass: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      handler: {
        number: 2,
        type: 'string',
        doc: 'Name of the configuration of the container runtime; a DNS label. Cannot be changed.',
      },
      overhead: {
        number: 3,
        type: 'Overhead',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Resources that each pod takes besides its containers.',
      },
      scheduling: {
        number: 4,
        type: 'Scheduling',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Nodes that support this way of running. Default: all.',
      },
    },
    RuntimeClassList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'RuntimeClass', repeated: true, doc: 'The objects of the list.' },
    },
    Scheduling: {
      nodeSelector: {
        number: 1,
        type: 'string',
        map: 'string',
        omitempty: true,
        optional: true,
        mapType: 'atomic',
        doc: "Labels of those nodes; added to the pod's own selector, and a pod that contradicts is refused.",
      },
      tolerations: {
        number: 2,
        type: 'core.v1.Toleration',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'atomic',
        doc: "Taints of those nodes; added to the pod's own tolerations.",
      },
    },
  },
  docs: {
    Overhead: 'Resources that a way of running pods takes besides the containers.',
    RuntimeClass: 'A way of running containers that pods can ask for.',
    RuntimeClassList: 'A list of RuntimeClass objects.',
    Scheduling: 'Nodes that support a way of running pods.',
  },
  resources: [
    {
      resource: 'runtimeclasses',
      singular: 'runtimeclass',
      kind: 'RuntimeClass',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Handler', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

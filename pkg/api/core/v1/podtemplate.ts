import { defineTypes, message, object, optional } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    PodTemplate: object('A description of pods to be made, kept as an object of its own.', {
      template: optional(2, 'PodTemplateSpec', 'The pods to make.'),
    }),
    PodTemplateSpec: message('The pods that a workload makes.', {
      metadata: optional(1, 'meta.v1.ObjectMeta', 'Labels, annotations and finalizers of the pods. Names are given by the workload.'),
      spec: optional(2, 'PodSpec', 'What the pods are meant to be.'),
    }),
  },
  resources: [
    {
      resource: 'podtemplates',
      kind: 'PodTemplate',
      columns: ['Name', 'Containers', 'Images', 'Pod Labels'],
    },
  ],
});

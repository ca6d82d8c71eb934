import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    JobSpec: {
      parallelism: { number: 1, type: 'int32', pointer: true, omitempty: true, optional: true },
      completions: { number: 2, type: 'int32', pointer: true, omitempty: true, optional: true },
      activeDeadlineSeconds: { number: 3, type: 'int64', pointer: true, omitempty: true, optional: true },
      backoffLimit: { number: 7, type: 'int32', pointer: true, omitempty: true, optional: true },
      selector: { number: 4, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      manualSelector: { number: 5, type: 'bool', pointer: true, omitempty: true, optional: true },
      template: { number: 6, type: 'core.v1.PodTemplateSpec' },
      ttlSecondsAfterFinished: { number: 8, type: 'int32', pointer: true, omitempty: true, optional: true },
      completionMode: {
        number: 9,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        enum: 'CompletionMode',
      },
      suspend: { number: 10, type: 'bool', pointer: true, omitempty: true, optional: true },
    },
  },
  enums: {
    CompletionMode: ['Indexed', 'NonIndexed'],
  },
};

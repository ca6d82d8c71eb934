import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    JobSpec: {
      parallelism: {
        number: 1,
        type: 'int32',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Most pods to run at the same time. Default 1.',
      },
      completions: {
        number: 2,
        type: 'int32',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Pods that must succeed. Unset: done once any pod succeeded and all have ended. Default 1 when `parallelism` is unset too.',
      },
      activeDeadlineSeconds: {
        number: 3,
        type: 'int64',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Seconds from the start after which the Job is stopped and has failed. A suspension stops the clock. Default: no limit.',
      },
      backoffLimit: {
        number: 7,
        type: 'int32',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Retries before the Job has failed. Default 6.',
      },
      selector: {
        number: 4,
        type: 'meta.v1.LabelSelector',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Labels of the pods that count. Normally set by the system.',
      },
      manualSelector: {
        number: 5,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: "Takes `selector` and the template's labels as given, instead of making unique ones. Default false.",
      },
      template: {
        number: 6,
        type: 'core.v1.PodTemplateSpec',
        doc: 'The pods to run. Their restart policy must be `Never` or `OnFailure`. Cannot be changed, except for scheduling rules before a suspended Job starts.',
      },
      ttlSecondsAfterFinished: {
        number: 8,
        type: 'int32',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Seconds after its end at which the Job is deleted. 0: at once. Default: never.',
      },
      completionMode: {
        number: 9,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        enum: 'CompletionMode',
        doc: '`NonIndexed`: any successful pods count. `Indexed`: one must succeed for each number from 0 to `completions` minus 1, which the pod finds in its environment. Default `NonIndexed`.',
      },
      suspend: {
        number: 10,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Runs no pods, and ends those that run. Default false.',
      },
    },
  },
  docs: {
    JobSpec: 'What a Job runs, and when it is done.',
  },
  enums: {
    CompletionMode: ['Indexed', 'NonIndexed'],
  },
};

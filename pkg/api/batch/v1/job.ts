import { condition, defineTypes, message, object, optional, pointer, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Job: object('Runs pods until enough of them have succeeded.', {
      spec: optional(2, 'JobSpec', 'What the object is meant to be.'),
      status: optional(3, 'JobStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    JobCondition: condition(
      "One aspect of a Job's state.",
      { type: { enum: 'JobConditionType' } },
      {
        lastProbeTime: optional(3, 'meta.v1.Time', 'When the condition was last checked.'),
      },
    ),
    JobStatus: message('What was last observed of a Job.', {
      conditions: optional(1, 'JobCondition[]', { patchMergeKey: 'type', listType: 'atomic' }, 'Latest observations of single aspects of the state, one per condition type.'),
      startTime: pointer(2, 'meta.v1.Time', 'When the Job started or went on after a suspension.'),
      completionTime: pointer(3, 'meta.v1.Time', 'When the Job finished with success.'),
      active: optional(4, 'int32', { minimum: 0 }, 'Pods that wait or run.'),
      succeeded: optional(5, 'int32', { minimum: 0 }, 'Pods that have succeeded.'),
      failed: optional(6, 'int32', { minimum: 0 }, 'Pods that have failed.'),
      completedIndexes: optional(7, 'string', 'Numbers that have succeeded, such as `1,3-5`. Only for `Indexed`.'),
      uncountedTerminatedPods: pointer(8, 'UncountedTerminatedPods', 'Ended pods that are not in the counters yet.'),
      ready: pointer(9, 'int32', { minimum: 0 }, 'Pods that are ready.'),
    }),
    UncountedTerminatedPods: message('Ended pods that are not in the counters yet.', {
      succeeded: optional(1, 'string[]', { listType: 'set' }, 'Identities of pods that have succeeded.'),
      failed: optional(2, 'string[]', { listType: 'set' }, 'Identities of pods that have failed.'),
    }),
  },
  enums: {
    JobConditionType: ['Complete', 'Failed', 'Suspended'],
  },
  resources: [
    {
      resource: 'jobs',
      kind: 'Job',
      categories: ['all'],
      subresources: ['status'],
      columns: ['Name', 'Completions', 'Duration', 'Age', ...wide('Containers', 'Images', 'Selector')],
    },
  ],
});

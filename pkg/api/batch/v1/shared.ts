import { defineTypes, message, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    JobSpec: message('What a Job runs, and when it is done.', {
      parallelism: pointer(1, 'int32', { minimum: 0 }, 'Most pods to run at the same time. Default 1.'),
      completions: pointer(2, 'int32', { minimum: 0 }, 'Pods that must succeed. Unset: done once any pod succeeded and all have ended. Default 1 when `parallelism` is unset too.'),
      activeDeadlineSeconds: pointer(3, 'int64', { minimum: 0 }, 'Seconds from the start after which the Job is stopped and has failed. A suspension stops the clock. Default: no limit.'),
      backoffLimit: pointer(7, 'int32', { minimum: 0 }, 'Retries before the Job has failed. Default 6.'),
      selector: pointer(4, 'meta.v1.LabelSelector', 'Labels of the pods that count. Normally set by the system.'),
      manualSelector: pointer(5, 'bool', "Takes `selector` and the template's labels as given, instead of making unique ones. Default false."),
      template: required(6, 'core.v1.PodTemplateSpec', 'The pods to run. Their restart policy must be `Never` or `OnFailure`. Cannot be changed, except for scheduling rules before a suspended Job starts.'),
      ttlSecondsAfterFinished: pointer(8, 'int32', { minimum: 0 }, 'Seconds after its end at which the Job is deleted. 0: at once. Default: never.'),
      completionMode: pointer(9, 'string', { enum: 'CompletionMode' }, '`NonIndexed`: any successful pods count. `Indexed`: one must succeed for each number from 0 to `completions` minus 1, which the pod finds in its environment. Default `NonIndexed`.'),
      suspend: pointer(10, 'bool', 'Runs no pods, and ends those that run. Default false.'),
    }),
  },
  enums: {
    CompletionMode: ['NonIndexed', 'Indexed'],
  },
});

import { defineTypes, message, object, optional, pointer, required, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    CronJob: object('Makes Jobs on a schedule.', {
      spec: optional(2, 'CronJobSpec', 'What the object is meant to be.'),
      status: optional(3, 'CronJobStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    CronJobSpec: message('What a CronJob makes, and when.', {
      schedule: required(1, 'string', 'When to run, in five cron fields: minute, hour, day of month, month, day of week; or a name such as `@hourly`.'),
      timeZone: pointer(8, 'string', { featureGate: 'CronJobTimeZone' }, 'Time zone of the schedule, by its name in the IANA database. Default: that of the controller.'),
      startingDeadlineSeconds: pointer(2, 'int64', { minimum: 0 }, 'Seconds after its time within which a missed run may still start; later it is skipped. Default: no limit.'),
      concurrencyPolicy: optional(3, 'string', { default: 'Allow', enum: 'ConcurrencyPolicy' }, 'When the previous run still goes on: `Allow` starts the next beside it, `Forbid` skips the next, `Replace` ends the previous.'),
      suspend: pointer(4, 'bool', { default: false }, 'Starts no further runs; those that go on are left alone.'),
      jobTemplate: required(5, 'JobTemplateSpec', 'The Job to make for each run.'),
      successfulJobsHistoryLimit: pointer(6, 'int32', { minimum: 0, default: 3 }, 'Finished Jobs to keep.'),
      failedJobsHistoryLimit: pointer(7, 'int32', { minimum: 0, default: 1 }, 'Failed Jobs to keep.'),
    }),
    CronJobStatus: message('What was last observed of a CronJob.', {
      active: optional(1, 'core.v1.ObjectReference[]', { listType: 'atomic' }, 'Jobs that run now.'),
      lastScheduleTime: pointer(4, 'meta.v1.Time', 'When a run was last due and started.'),
      lastSuccessfulTime: pointer(5, 'meta.v1.Time', 'When a run last finished with success.'),
    }),
    JobTemplateSpec: message('A Job to be made.', {
      metadata: optional(1, 'meta.v1.ObjectMeta', 'Labels and annotations of the Jobs.'),
      spec: optional(2, 'JobSpec', 'What the Jobs are meant to do.'),
    }),
  },
  enums: {
    ConcurrencyPolicy: ['Allow', 'Forbid', 'Replace'],
  },
  resources: [
    {
      resource: 'cronjobs',
      kind: 'CronJob',
      shortNames: ['cj'],
      categories: ['all'],
      subresources: ['status'],
      columns: ['Name', 'Schedule', { name: 'Suspend', type: 'boolean' }, { name: 'Active', type: 'integer' }, 'Last Schedule', 'Age', ...wide('Containers', 'Images', 'Selector')],
    },
  ],
});

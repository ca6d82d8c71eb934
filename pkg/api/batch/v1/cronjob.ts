import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    CronJob: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'CronJobSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'CronJobStatus', omitempty: true, optional: true },
    },
    CronJobList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'CronJob', repeated: true },
    },
    CronJobSpec: {
      schedule: { number: 1, type: 'string' },
      timeZone: { number: 8, type: 'string', pointer: true, omitempty: true, optional: true },
      startingDeadlineSeconds: { number: 2, type: 'int64', pointer: true, omitempty: true, optional: true },
      concurrencyPolicy: { number: 3, type: 'string', omitempty: true, optional: true, enum: 'ConcurrencyPolicy' },
      suspend: { number: 4, type: 'bool', pointer: true, omitempty: true, optional: true },
      jobTemplate: { number: 5, type: 'JobTemplateSpec' },
      successfulJobsHistoryLimit: { number: 6, type: 'int32', pointer: true, omitempty: true, optional: true },
      failedJobsHistoryLimit: { number: 7, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
    CronJobStatus: {
      active: {
        number: 1,
        type: 'core.v1.ObjectReference',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'atomic',
      },
      lastScheduleTime: { number: 4, type: 'meta.v1.Time', pointer: true, omitempty: true, optional: true },
      lastSuccessfulTime: { number: 5, type: 'meta.v1.Time', pointer: true, omitempty: true, optional: true },
    },
    JobTemplateSpec: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'JobSpec', omitempty: true, optional: true },
    },
  },
  enums: {
    ConcurrencyPolicy: ['Allow', 'Forbid', 'Replace'],
  },
  resources: [
    {
      resource: 'cronjobs',
      singular: 'cronjob',
      kind: 'CronJob',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['cj'],
      categories: ['all'],
      subresources: [{ name: 'status', kind: 'CronJob', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Schedule', type: 'string' },
        { name: 'Suspend', type: 'boolean' },
        { name: 'Active', type: 'integer' },
        { name: 'Last Schedule', type: 'string' },
        { name: 'Age', type: 'string' },
        { name: 'Containers', type: 'string', priority: 1 },
        { name: 'Images', type: 'string', priority: 1 },
        { name: 'Selector', type: 'string', priority: 1 },
      ],
    },
  ],
};

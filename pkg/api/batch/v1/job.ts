import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Job: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'JobSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'JobStatus', omitempty: true, optional: true },
    },
    JobCondition: {
      type: { number: 1, type: 'string', enum: 'JobConditionType' },
      status: { number: 2, type: 'string' },
      lastProbeTime: { number: 3, type: 'meta.v1.Time', omitempty: true, optional: true },
      lastTransitionTime: { number: 4, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 5, type: 'string', omitempty: true, optional: true },
      message: { number: 6, type: 'string', omitempty: true, optional: true },
    },
    JobList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'Job', repeated: true },
    },
    JobStatus: {
      conditions: {
        number: 1,
        type: 'JobCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
        listType: 'atomic',
      },
      startTime: { number: 2, type: 'meta.v1.Time', pointer: true, omitempty: true, optional: true },
      completionTime: { number: 3, type: 'meta.v1.Time', pointer: true, omitempty: true, optional: true },
      active: { number: 4, type: 'int32', omitempty: true, optional: true },
      succeeded: { number: 5, type: 'int32', omitempty: true, optional: true },
      failed: { number: 6, type: 'int32', omitempty: true, optional: true },
      completedIndexes: { number: 7, type: 'string', omitempty: true, optional: true },
      uncountedTerminatedPods: {
        number: 8,
        type: 'UncountedTerminatedPods',
        pointer: true,
        omitempty: true,
        optional: true,
      },
      ready: { number: 9, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
    UncountedTerminatedPods: {
      succeeded: { number: 1, type: 'string', repeated: true, omitempty: true, optional: true, listType: 'set' },
      failed: { number: 2, type: 'string', repeated: true, omitempty: true, optional: true, listType: 'set' },
    },
  },
  enums: {
    JobConditionType: ['Complete', 'Failed', 'Suspended'],
  },
  resources: [
    {
      resource: 'jobs',
      singular: 'job',
      kind: 'Job',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      categories: ['all'],
      subresources: [{ name: 'status', kind: 'Job', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Completions', type: 'string' },
        { name: 'Duration', type: 'string' },
        { name: 'Age', type: 'string' },
        { name: 'Containers', type: 'string', priority: 1 },
        { name: 'Images', type: 'string', priority: 1 },
        { name: 'Selector', type: 'string', priority: 1 },
      ],
    },
  ],
};

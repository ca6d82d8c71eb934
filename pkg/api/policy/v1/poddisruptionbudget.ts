import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Eviction: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      deleteOptions: { number: 2, type: 'meta.v1.DeleteOptions', pointer: true, omitempty: true, optional: true },
    },
    PodDisruptionBudget: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'PodDisruptionBudgetSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'PodDisruptionBudgetStatus', omitempty: true, optional: true },
    },
    PodDisruptionBudgetList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'PodDisruptionBudget', repeated: true },
    },
    PodDisruptionBudgetSpec: {
      minAvailable: { number: 1, type: 'intstr.IntOrString', pointer: true, omitempty: true, optional: true },
      selector: {
        number: 2,
        type: 'meta.v1.LabelSelector',
        pointer: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'replace',
      },
      maxUnavailable: { number: 3, type: 'intstr.IntOrString', pointer: true, omitempty: true, optional: true },
    },
    PodDisruptionBudgetStatus: {
      observedGeneration: { number: 1, type: 'int64', omitempty: true, optional: true },
      disruptedPods: { number: 2, type: 'meta.v1.Time', map: 'string', omitempty: true, optional: true },
      disruptionsAllowed: { number: 3, type: 'int32' },
      currentHealthy: { number: 4, type: 'int32' },
      desiredHealthy: { number: 5, type: 'int32' },
      expectedPods: { number: 6, type: 'int32' },
      conditions: {
        number: 7,
        type: 'meta.v1.Condition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
        listType: 'map',
        listMapKeys: ['type'],
      },
    },
  },
  resources: [
    {
      resource: 'poddisruptionbudgets',
      singular: 'poddisruptionbudget',
      kind: 'PodDisruptionBudget',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['pdb'],
      subresources: [{ name: 'status', kind: 'PodDisruptionBudget', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Min Available', type: 'string' },
        { name: 'Max Unavailable', type: 'string' },
        { name: 'Allowed Disruptions', type: 'integer' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

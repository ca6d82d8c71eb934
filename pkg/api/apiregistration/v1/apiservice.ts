import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    APIService: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'APIServiceSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'APIServiceStatus', omitempty: true, optional: true },
    },
    APIServiceCondition: {
      type: { number: 1, type: 'string', enum: 'APIServiceConditionType' },
      status: { number: 2, type: 'string', enum: 'ConditionStatus' },
      lastTransitionTime: { number: 3, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 4, type: 'string', omitempty: true, optional: true },
      message: { number: 5, type: 'string', omitempty: true, optional: true },
    },
    APIServiceList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'APIService', repeated: true },
    },
    APIServiceSpec: {
      service: { number: 1, type: 'ServiceReference', pointer: true, omitempty: true, optional: true },
      group: { number: 2, type: 'string', omitempty: true, optional: true },
      version: { number: 3, type: 'string', omitempty: true, optional: true },
      insecureSkipTLSVerify: { number: 4, type: 'bool', omitempty: true, optional: true },
      caBundle: { number: 5, type: 'bytes', omitempty: true, optional: true, listType: 'atomic' },
      groupPriorityMinimum: { number: 7, type: 'int32' },
      versionPriority: { number: 8, type: 'int32' },
    },
    APIServiceStatus: {
      conditions: {
        number: 1,
        type: 'APIServiceCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
        listType: 'map',
        listMapKeys: ['type'],
      },
    },
    ServiceReference: {
      namespace: { number: 1, type: 'string', omitempty: true, optional: true },
      name: { number: 2, type: 'string', omitempty: true, optional: true },
      port: { number: 3, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
  },
  enums: {
    APIServiceConditionType: ['Available'],
    ConditionStatus: ['False', 'True', 'Unknown'],
  },
  resources: [
    {
      resource: 'apiservices',
      singular: 'apiservice',
      kind: 'APIService',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      categories: ['api-extensions'],
      subresources: [{ name: 'status', kind: 'APIService', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Service', type: 'string' },
        { name: 'Available', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

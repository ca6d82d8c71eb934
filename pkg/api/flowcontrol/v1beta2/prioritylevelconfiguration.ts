import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    LimitResponse: {
      type: { number: 1, type: 'string', enum: 'LimitResponseType' },
      queuing: { number: 2, type: 'QueuingConfiguration', pointer: true, omitempty: true, optional: true },
    },
    LimitedPriorityLevelConfiguration: {
      assuredConcurrencyShares: { number: 1, type: 'int32', optional: true },
      limitResponse: { number: 2, type: 'LimitResponse', omitempty: true, optional: true },
    },
    PriorityLevelConfiguration: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'PriorityLevelConfigurationSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'PriorityLevelConfigurationStatus', omitempty: true, optional: true },
    },
    PriorityLevelConfigurationCondition: {
      type: { number: 1, type: 'string', omitempty: true, optional: true },
      status: { number: 2, type: 'string', omitempty: true, optional: true, enum: 'ConditionStatus' },
      lastTransitionTime: { number: 3, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 4, type: 'string', omitempty: true, optional: true },
      message: { number: 5, type: 'string', omitempty: true, optional: true },
    },
    PriorityLevelConfigurationList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'PriorityLevelConfiguration', repeated: true },
    },
    PriorityLevelConfigurationSpec: {
      type: { number: 1, type: 'string', enum: 'PriorityLevelEnablement' },
      limited: { number: 2, type: 'LimitedPriorityLevelConfiguration', pointer: true, omitempty: true, optional: true },
    },
    PriorityLevelConfigurationStatus: {
      conditions: {
        number: 1,
        type: 'PriorityLevelConfigurationCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'map',
        listMapKeys: ['type'],
      },
    },
    QueuingConfiguration: {
      queues: { number: 1, type: 'int32', optional: true },
      handSize: { number: 2, type: 'int32', optional: true },
      queueLengthLimit: { number: 3, type: 'int32', optional: true },
    },
  },
  enums: {
    LimitResponseType: ['Queue', 'Reject'],
    PriorityLevelEnablement: ['Exempt', 'Limited'],
  },
  resources: [
    {
      resource: 'prioritylevelconfigurations',
      singular: 'prioritylevelconfiguration',
      kind: 'PriorityLevelConfiguration',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      subresources: [{ name: 'status', kind: 'PriorityLevelConfiguration', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Type', type: 'string' },
        { name: 'AssuredConcurrencyShares', type: 'string' },
        { name: 'Queues', type: 'string' },
        { name: 'HandSize', type: 'string' },
        { name: 'QueueLengthLimit', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};

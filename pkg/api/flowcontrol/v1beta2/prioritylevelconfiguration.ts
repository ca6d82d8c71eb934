import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    LimitResponse: {
      type: {
        number: 1,
        type: 'string',
        enum: 'LimitResponseType',
        doc: '`Queue` makes them wait, `Reject` refuses them.',
      },
      queuing: {
        number: 2,
        type: 'QueuingConfiguration',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Settings of the queues. Only for `Queue`.',
      },
    },
    LimitedPriorityLevelConfiguration: {
      assuredConcurrencyShares: {
        number: 1,
        type: 'int32',
        optional: true,
        doc: "Share of the server's concurrent requests, relative to all other levels. More than 0. Default 30.",
      },
      limitResponse: {
        number: 2,
        type: 'LimitResponse',
        omitempty: true,
        optional: true,
        doc: 'What happens to requests beyond the limit.',
      },
    },
    PriorityLevelConfiguration: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: {
        number: 2,
        type: 'PriorityLevelConfigurationSpec',
        omitempty: true,
        optional: true,
        doc: 'What the object is meant to be.',
      },
      status: {
        number: 3,
        type: 'PriorityLevelConfigurationStatus',
        omitempty: true,
        optional: true,
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
    PriorityLevelConfigurationCondition: {
      type: { number: 1, type: 'string', omitempty: true, optional: true, doc: 'Aspect that the condition describes.' },
      status: {
        number: 2,
        type: 'string',
        omitempty: true,
        optional: true,
        enum: 'ConditionStatus',
        doc: 'Whether the condition holds: `True`, `False` or `Unknown`.',
      },
      lastTransitionTime: {
        number: 3,
        type: 'meta.v1.Time',
        omitempty: true,
        optional: true,
        doc: 'When the status last changed.',
      },
      reason: {
        number: 4,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'One CamelCase word on why the status last changed, for programs.',
      },
      message: {
        number: 5,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Details of the last change of the status, for people.',
      },
    },
    PriorityLevelConfigurationList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'PriorityLevelConfiguration', repeated: true, doc: 'The objects of the list.' },
    },
    PriorityLevelConfigurationSpec: {
      type: {
        number: 1,
        type: 'string',
        enum: 'PriorityLevelEnablement',
        doc: '`Exempt`: not at all. `Limited`: to a share.',
      },
      limited: {
        number: 2,
        type: 'LimitedPriorityLevelConfiguration',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'The limit. Required for, and only for, `Limited`.',
      },
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
        doc: 'Latest observations of single aspects of the state, one per condition type.',
      },
    },
    QueuingConfiguration: {
      queues: { number: 1, type: 'int32', optional: true, doc: 'Number of queues. Default 64.' },
      handSize: {
        number: 2,
        type: 'int32',
        optional: true,
        doc: 'Queues that a flow is dealt; each of its requests joins the shortest of them. At most `queues`. Default 8.',
      },
      queueLengthLimit: {
        number: 3,
        type: 'int32',
        optional: true,
        doc: 'Most requests in a queue; further ones are refused. Default 50.',
      },
    },
  },
  docs: {
    LimitResponse: 'What happens to requests beyond the limit.',
    LimitedPriorityLevelConfiguration: 'Limit of a priority level.',
    PriorityLevelConfiguration: 'A class of requests with a limit of its own.',
    PriorityLevelConfigurationCondition: "One aspect of a priority level's state.",
    PriorityLevelConfigurationList: 'A list of PriorityLevelConfiguration objects.',
    PriorityLevelConfigurationSpec: 'How the requests of a level are limited.',
    PriorityLevelConfigurationStatus: 'What was last observed of a priority level.',
    QueuingConfiguration: 'Queues of a priority level.',
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

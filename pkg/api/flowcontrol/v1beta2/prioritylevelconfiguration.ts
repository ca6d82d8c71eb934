import { defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    LimitResponse: message('What happens to requests beyond the limit.', {
      type: required(1, 'string', { enum: 'LimitResponseType' }, '`Queue` makes them wait, `Reject` refuses them.'),
      queuing: pointer(2, 'QueuingConfiguration', 'Settings of the queues. Only for `Queue`.'),
    }),
    LimitedPriorityLevelConfiguration: message('Limit of a priority level.', {
      assuredConcurrencyShares: optional(1, 'int32', { omitempty: false }, "Share of the server's concurrent requests, relative to all other levels. More than 0. Default 30."),
      limitResponse: optional(2, 'LimitResponse', 'What happens to requests beyond the limit.'),
    }),
    PriorityLevelConfiguration: object('A class of requests with a limit of its own.', {
      spec: optional(2, 'PriorityLevelConfigurationSpec', 'What the object is meant to be.'),
      status: optional(3, 'PriorityLevelConfigurationStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    PriorityLevelConfigurationCondition: message("One aspect of a priority level's state.", {
      type: optional(1, 'string', 'Aspect that the condition describes.'),
      status: optional(2, 'string', { enum: 'ConditionStatus' }, 'Whether the condition holds: `True`, `False` or `Unknown`.'),
      lastTransitionTime: optional(3, 'meta.v1.Time', 'When the status last changed.'),
      reason: optional(4, 'string', 'One CamelCase word on why the status last changed, for programs.'),
      message: optional(5, 'string', 'Details of the last change of the status, for people.'),
    }),
    PriorityLevelConfigurationSpec: message('How the requests of a level are limited.', {
      type: required(1, 'string', { enum: 'PriorityLevelEnablement' }, '`Exempt`: not at all. `Limited`: to a share.'),
      limited: pointer(2, 'LimitedPriorityLevelConfiguration', 'The limit. Required for, and only for, `Limited`.'),
    }),
    PriorityLevelConfigurationStatus: message('What was last observed of a priority level.', {
      conditions: optional(1, 'PriorityLevelConfigurationCondition[]', { listMapKeys: ['type'] }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
    QueuingConfiguration: message('Queues of a priority level.', {
      queues: optional(1, 'int32', { omitempty: false }, 'Number of queues. Default 64.'),
      handSize: optional(2, 'int32', { omitempty: false }, 'Queues that a flow is dealt; each of its requests joins the shortest of them. At most `queues`. Default 8.'),
      queueLengthLimit: optional(3, 'int32', { omitempty: false }, 'Most requests in a queue; further ones are refused. Default 50.'),
    }),
  },
  enums: {
    LimitResponseType: ['Queue', 'Reject'],
    PriorityLevelEnablement: ['Exempt', 'Limited'],
  },
  resources: [
    {
      resource: 'prioritylevelconfigurations',
      kind: 'PriorityLevelConfiguration',
      namespaced: false,
      subresources: ['status'],
      columns: ['Name', 'Type', 'AssuredConcurrencyShares', 'Queues', 'HandSize', 'QueueLengthLimit', 'Age'],
    },
  ],
});

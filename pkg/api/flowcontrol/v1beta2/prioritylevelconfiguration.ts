import { declaration as flowSchemas } from '#api/flowcontrol/v1beta2/flowschema.js';
import { defineTypes, message, object, optional, pointer, required, union } from '#apimachinery/schema/language.js';

const { FlowSchemaCondition } = flowSchemas.types;

export const declaration = defineTypes({
  types: {
    LimitResponse: union('What happens to requests beyond the limit.', {
      type: required(1, 'string', { enum: 'LimitResponseType', discriminator: 'inSchema' }, '`Queue` makes them wait, `Reject` refuses them.'),
      queuing: pointer(2, 'QueuingConfiguration', 'Settings of the queues. Only for `Queue`.'),
    }),
    LimitedPriorityLevelConfiguration: message('Limit of a priority level.', {
      assuredConcurrencyShares: optional(1, 'int32', { minimum: 1, default: 30, omitempty: false }, "Share of the server's concurrent requests, relative to all other levels."),
      limitResponse: optional(2, 'LimitResponse', 'What happens to requests beyond the limit.'),
    }),
    PriorityLevelConfiguration: object('A class of requests with a limit of its own.', {
      spec: optional(2, 'PriorityLevelConfigurationSpec', 'What the object is meant to be.'),
      status: optional(3, 'PriorityLevelConfigurationStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    PriorityLevelConfigurationCondition: { ...FlowSchemaCondition, doc: "One aspect of a priority level's state." },
    PriorityLevelConfigurationSpec: union('How the requests of a level are limited.', {
      type: required(1, 'string', { enum: 'PriorityLevelEnablement', discriminator: 'inSchema' }, '`Exempt`: not at all. `Limited`: to a share.'),
      limited: pointer(2, 'LimitedPriorityLevelConfiguration', 'The limit. Required for, and only for, `Limited`.'),
    }),
    PriorityLevelConfigurationStatus: message('What was last observed of a priority level.', {
      conditions: optional(1, 'PriorityLevelConfigurationCondition[]', { listMapKeys: ['type'] }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
    QueuingConfiguration: message('Queues of a priority level.', {
      queues: optional(1, 'int32', { minimum: 1, maximum: 10_000_000, default: 64, omitempty: false }, 'Number of queues.'),
      handSize: optional(2, 'int32', { minimum: 1, default: 8, omitempty: false }, 'Queues that a flow is dealt; each of its requests joins the shortest of them. At most `queues`.'),
      queueLengthLimit: optional(3, 'int32', { minimum: 1, default: 50, omitempty: false }, 'Most requests in a queue; further ones are refused.'),
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

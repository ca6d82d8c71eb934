import { defineTypes, message, object, optional, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    FlowDistinguisherMethod: message('How requests of a schema are told apart into flows.', {
      type: required(1, 'string', { enum: 'FlowDistinguisherMethodType' }, '`ByUser` or `ByNamespace`.'),
    }),
    FlowSchema: object('Assigns requests to a priority level.', {
      spec: optional(2, 'FlowSchemaSpec', 'What the object is meant to be.'),
      status: optional(3, 'FlowSchemaStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    FlowSchemaCondition: message("One aspect of a FlowSchema's state.", {
      type: optional(1, 'string', 'Aspect that the condition describes.'),
      status: optional(2, 'string', { enum: 'ConditionStatus' }, 'Whether the condition holds: `True`, `False` or `Unknown`.'),
      lastTransitionTime: optional(3, 'meta.v1.Time', 'When the status last changed.'),
      reason: optional(4, 'string', 'One CamelCase word on why the status last changed, for programs.'),
      message: optional(5, 'string', 'Details of the last change of the status, for people.'),
    }),
    FlowSchemaSpec: message('Which requests a schema is for, and how they are treated.', {
      priorityLevelConfiguration: required(1, 'PriorityLevelConfigurationReference', 'Priority level of the requests. It must exist, otherwise the schema is ignored.'),
      matchingPrecedence: optional(2, 'int32', { minimum: 1, maximum: 10_000, default: 1000, omitempty: false }, 'Order among schemas; the lowest that matches counts.'),
      distinguisherMethod: pointer(3, 'FlowDistinguisherMethod', 'How requests are told apart into flows, which get a fair share each. Unset: one flow.'),
      rules: optional(4, 'PolicyRulesWithSubjects[]', { listType: 'atomic' }, 'Requests that the schema is for; one match is enough.'),
    }),
    FlowSchemaStatus: message('What was last observed of a FlowSchema.', {
      conditions: optional(1, 'FlowSchemaCondition[]', { listMapKeys: ['type'] }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
    GroupSubject: message('A group of users.', {
      name: required(1, 'string', 'Name of the group; `*` is all.'),
    }),
    NonResourcePolicyRule: message('Requests for paths outside resources.', {
      verbs: required(1, 'string[]', { listType: 'set' }, 'Verbs; `*` is all.'),
      nonResourceURLs: required(6, 'string[]', { listType: 'set' }, 'Paths; `*` at the end is a wildcard.'),
    }),
    PolicyRulesWithSubjects: message('Requests of some subjects for some resources or URLs.', {
      subjects: required(1, 'Subject[]', { listType: 'atomic' }, 'Who makes the requests; one match is enough.'),
      resourceRules: optional(2, 'ResourcePolicyRule[]', { listType: 'atomic' }, 'Requests for resources. One match among all rules is enough.'),
      nonResourceRules: optional(3, 'NonResourcePolicyRule[]', { listType: 'atomic' }, 'Requests for paths outside resources.'),
    }),
    PriorityLevelConfigurationReference: message('A priority level.', {
      name: required(1, 'string', 'Name of the level.'),
    }),
    ResourcePolicyRule: message('Requests for resources.', {
      verbs: required(1, 'string[]', { listType: 'set' }, 'Verbs; `*` is all.'),
      apiGroups: required(2, 'string[]', { listType: 'set' }, 'Groups; `*` is all.'),
      resources: required(3, 'string[]', { listType: 'set' }, 'Resources, as `resource` or `resource/subresource`; `*` is all.'),
      clusterScope: optional(4, 'bool', 'Whether requests without a namespace match. Default false.'),
      namespaces: optional(5, 'string[]', { listType: 'set', omitempty: false }, 'Namespaces that match; `*` is all. Empty: none.'),
    }),
    ServiceAccountSubject: message('A service account.', {
      namespace: required(1, 'string', 'Namespace of the account.'),
      name: required(2, 'string', 'Name of the account; `*` is all of the namespace.'),
    }),
    Subject: union('Who makes requests.', {
      kind: required(1, 'string', { enum: 'SubjectKind', discriminator: 'inSchema' }, '`User`, `Group` or `ServiceAccount`.'),
      group: pointer(3, 'GroupSubject', 'A group.'),
      serviceAccount: pointer(4, 'ServiceAccountSubject', 'A service account.'),
      user: pointer(2, 'UserSubject', 'A user.'),
    }),
    UserSubject: message('A user.', {
      name: required(1, 'string', 'Name of the user; `*` is all.'),
    }),
  },
  enums: {
    ConditionStatus: ['False', 'True', 'Unknown'],
    FlowDistinguisherMethodType: ['ByNamespace', 'ByUser'],
    SubjectKind: ['Group', 'ServiceAccount', 'User'],
  },
  resources: [
    {
      resource: 'flowschemas',
      kind: 'FlowSchema',
      namespaced: false,
      subresources: ['status'],
      columns: ['Name', 'PriorityLevel', 'MatchingPrecedence', 'DistinguisherMethod', 'Age', 'MissingPL'],
    },
  ],
});

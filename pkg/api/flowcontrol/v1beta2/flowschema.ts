import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    FlowDistinguisherMethod: {
      type: { number: 1, type: 'string', enum: 'FlowDistinguisherMethodType' },
    },
    FlowSchema: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'FlowSchemaSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'FlowSchemaStatus', omitempty: true, optional: true },
    },
    FlowSchemaCondition: {
      type: { number: 1, type: 'string', omitempty: true, optional: true },
      status: { number: 2, type: 'string', omitempty: true, optional: true, enum: 'ConditionStatus' },
      lastTransitionTime: { number: 3, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 4, type: 'string', omitempty: true, optional: true },
      message: { number: 5, type: 'string', omitempty: true, optional: true },
    },
    FlowSchemaList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'FlowSchema', repeated: true },
    },
    FlowSchemaSpec: {
      priorityLevelConfiguration: { number: 1, type: 'PriorityLevelConfigurationReference' },
      matchingPrecedence: { number: 2, type: 'int32', optional: true },
      distinguisherMethod: {
        number: 3,
        type: 'FlowDistinguisherMethod',
        pointer: true,
        omitempty: true,
        optional: true,
      },
      rules: {
        number: 4,
        type: 'PolicyRulesWithSubjects',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'atomic',
      },
    },
    FlowSchemaStatus: {
      conditions: {
        number: 1,
        type: 'FlowSchemaCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'map',
        listMapKeys: ['type'],
      },
    },
    GroupSubject: {
      name: { number: 1, type: 'string' },
    },
    NonResourcePolicyRule: {
      verbs: { number: 1, type: 'string', repeated: true, listType: 'set' },
      nonResourceURLs: { number: 6, type: 'string', repeated: true, listType: 'set' },
    },
    PolicyRulesWithSubjects: {
      subjects: { number: 1, type: 'Subject', repeated: true, listType: 'atomic' },
      resourceRules: {
        number: 2,
        type: 'ResourcePolicyRule',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'atomic',
      },
      nonResourceRules: {
        number: 3,
        type: 'NonResourcePolicyRule',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'atomic',
      },
    },
    PriorityLevelConfigurationReference: {
      name: { number: 1, type: 'string' },
    },
    ResourcePolicyRule: {
      verbs: { number: 1, type: 'string', repeated: true, listType: 'set' },
      apiGroups: { number: 2, type: 'string', repeated: true, listType: 'set' },
      resources: { number: 3, type: 'string', repeated: true, listType: 'set' },
      clusterScope: { number: 4, type: 'bool', omitempty: true, optional: true },
      namespaces: { number: 5, type: 'string', repeated: true, optional: true, listType: 'set' },
    },
    ServiceAccountSubject: {
      namespace: { number: 1, type: 'string' },
      name: { number: 2, type: 'string' },
    },
    Subject: {
      kind: { number: 1, type: 'string', enum: 'SubjectKind' },
      user: { number: 2, type: 'UserSubject', pointer: true, omitempty: true, optional: true },
      group: { number: 3, type: 'GroupSubject', pointer: true, omitempty: true, optional: true },
      serviceAccount: { number: 4, type: 'ServiceAccountSubject', pointer: true, omitempty: true, optional: true },
    },
    UserSubject: {
      name: { number: 1, type: 'string' },
    },
  },
  enums: {
    ConditionStatus: ['False', 'True', 'Unknown'],
    FlowDistinguisherMethodType: ['ByNamespace', 'ByUser'],
    SubjectKind: ['Group', 'ServiceAccount', 'User'],
  },
  resources: [
    {
      resource: 'flowschemas',
      singular: 'flowschema',
      kind: 'FlowSchema',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      subresources: [{ name: 'status', kind: 'FlowSchema', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'PriorityLevel', type: 'string' },
        { name: 'MatchingPrecedence', type: 'string' },
        { name: 'DistinguisherMethod', type: 'string' },
        { name: 'Age', type: 'string' },
        { name: 'MissingPL', type: 'string' },
      ],
    },
  ],
};

import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    PolicyRule: {
      verbs: { number: 1, type: 'string', repeated: true, doc: 'What may be done, such as `get`; `*` is everything.' },
      apiGroups: {
        number: 2,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Groups of the resources; empty text is the core group, `*` all groups.',
      },
      resources: {
        number: 3,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Resources, as `resource` or `resource/subresource`; `*` is all.',
      },
      resourceNames: {
        number: 4,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Names of single objects. Empty: all.',
      },
      nonResourceURLs: {
        number: 5,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Paths outside resources; `*` at the end is a wildcard. Only in ClusterRoles for bindings of the whole cluster, and not together with resources.',
      },
    },
    RoleRef: {
      apiGroup: { number: 1, type: 'string', doc: 'Group of the role.' },
      kind: { number: 2, type: 'string', doc: '`Role` or `ClusterRole`.' },
      name: { number: 3, type: 'string', doc: 'Name of the role.' },
    },
    Subject: {
      kind: { number: 1, type: 'string', doc: '`User`, `Group` or `ServiceAccount`.' },
      apiGroup: {
        number: 2,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Group of the kind. Default: none for service accounts, that of roles for users and groups.',
      },
      name: { number: 3, type: 'string', doc: 'Name of the user, group or account.' },
      namespace: {
        number: 4,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Namespace of the account. Only for service accounts.',
      },
    },
  },
  docs: {
    PolicyRule: 'What may be done with which resources or paths.',
    RoleRef: 'The role that a binding gives.',
    Subject: 'Who a binding is for.',
  },
};

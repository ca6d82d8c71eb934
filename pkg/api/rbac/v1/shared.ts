import { atomic, defineTypes, message, optional, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    PolicyRule: message('What may be done with which resources or paths.', {
      verbs: required(1, 'string[]', 'What may be done, such as `get`; `*` is everything.'),
      apiGroups: optional(2, 'string[]', 'Groups of the resources; empty text is the core group, `*` all groups.'),
      resources: optional(3, 'string[]', 'Resources, as `resource` or `resource/subresource`; `*` is all.'),
      resourceNames: optional(4, 'string[]', 'Names of single objects. Empty: all.'),
      nonResourceURLs: optional(5, 'string[]', 'Paths outside resources; `*` at the end is a wildcard. Only in ClusterRoles for bindings of the whole cluster, and not together with resources.'),
    }),
    RoleRef: atomic('The role that a binding gives.', {
      apiGroup: required(1, 'string', 'Group of the role.'),
      kind: required(2, 'string', '`Role` or `ClusterRole`.'),
      name: required(3, 'string', 'Name of the role.'),
    }),
    Subject: atomic('Who a binding is for.', {
      kind: required(1, 'string', '`User`, `Group` or `ServiceAccount`.'),
      apiGroup: optional(2, 'string', 'Group of the kind. Default: none for service accounts, that of roles for users and groups.'),
      name: required(3, 'string', 'Name of the user, group or account.'),
      namespace: optional(4, 'string', 'Namespace of the account. Only for service accounts.'),
    }),
  },
});

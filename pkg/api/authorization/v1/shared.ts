import { defineTypes, message, optional, partialUnion, pointer, required, shaped } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ExtraValue: shaped('bareList', 'Values of a fact about a user.', {
      items: required(1, 'string[]', 'The values.'),
    }),
    NonResourceAttributes: message('Access to a path outside resources.', {
      path: optional(1, 'string', 'The path.'),
      verb: optional(2, 'string', 'HTTP method in lower case.'),
    }),
    ResourceAttributes: message('Access to a resource.', {
      namespace: optional(1, 'string', 'Namespace of the objects. Empty: all, or none for resources that do not live in namespaces.'),
      verb: optional(2, 'string', 'What is wanted, such as `get`; `*` is everything.'),
      group: optional(3, 'string', 'Group of the resource; `*` is all.'),
      version: optional(4, 'string', 'Version of the resource; `*` is all.'),
      resource: optional(5, 'string', 'Plural name of the resource; `*` is all.'),
      subresource: optional(6, 'string', 'Subresource. Empty: the object itself.'),
      name: optional(7, 'string', 'Name of a single object. Empty: all.'),
    }),
    SubjectAccessReviewSpec: partialUnion('Who wants to do what.', ['resourceAttributes', 'nonResourceAttributes'], {
      resourceAttributes: pointer(1, 'ResourceAttributes', 'Access to a resource.'),
      nonResourceAttributes: pointer(2, 'NonResourceAttributes', 'Access to a path outside resources.'),
      user: optional(3, 'string', 'Name of the user. A user or a group is needed.'),
      groups: optional(4, 'string[]', 'Groups of the user.'),
      extra: optional(5, 'map<string, ExtraValue>', 'Further facts on the user.'),
      uid: optional(6, 'string', 'Identity of the user.'),
    }),
    SubjectAccessReviewStatus: message('Whether it is allowed.', {
      allowed: required(1, 'bool', 'Whether it is allowed.'),
      denied: optional(4, 'bool', 'Whether it is denied, so that no other authorizer is asked.'),
      reason: optional(2, 'string', 'Why, for people.'),
      evaluationError: optional(3, 'string', 'What went wrong while deciding; the answer may still hold.'),
    }),
  },
});

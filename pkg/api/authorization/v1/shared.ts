import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ExtraValue: {
      items: { number: 1, type: 'string', repeated: true, jsonWrapper: true, doc: 'The values.' },
    },
    NonResourceAttributes: {
      path: { number: 1, type: 'string', omitempty: true, optional: true, doc: 'The path.' },
      verb: { number: 2, type: 'string', omitempty: true, optional: true, doc: 'HTTP method in lower case.' },
    },
    ResourceAttributes: {
      namespace: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Namespace of the objects. Empty: all, or none for resources that do not live in namespaces.',
      },
      verb: {
        number: 2,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'What is wanted, such as `get`; `*` is everything.',
      },
      group: { number: 3, type: 'string', omitempty: true, optional: true, doc: 'Group of the resource; `*` is all.' },
      version: {
        number: 4,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Version of the resource; `*` is all.',
      },
      resource: {
        number: 5,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Plural name of the resource; `*` is all.',
      },
      subresource: {
        number: 6,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Subresource. Empty: the object itself.',
      },
      name: { number: 7, type: 'string', omitempty: true, optional: true, doc: 'Name of a single object. Empty: all.' },
    },
    SubjectAccessReviewSpec: {
      resourceAttributes: {
        number: 1,
        type: 'ResourceAttributes',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Access to a resource.',
      },
      nonResourceAttributes: {
        number: 2,
        type: 'NonResourceAttributes',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Access to a path outside resources.',
      },
      user: {
        number: 3,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Name of the user. A user or a group is needed.',
      },
      groups: {
        number: 4,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Groups of the user.',
      },
      extra: {
        number: 5,
        type: 'ExtraValue',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Further facts on the user.',
      },
      uid: { number: 6, type: 'string', omitempty: true, optional: true, doc: 'Identity of the user.' },
    },
    SubjectAccessReviewStatus: {
      allowed: { number: 1, type: 'bool', doc: 'Whether it is allowed.' },
      denied: {
        number: 4,
        type: 'bool',
        omitempty: true,
        optional: true,
        doc: 'Whether it is forbidden outright, so that nobody else need be asked.',
      },
      reason: { number: 2, type: 'string', omitempty: true, optional: true, doc: 'Why, for people.' },
      evaluationError: {
        number: 3,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'What went wrong while deciding; the answer may still hold.',
      },
    },
  },
  docs: {
    ExtraValue: 'Values of a fact about a user.',
    NonResourceAttributes: 'Access to a path outside resources.',
    ResourceAttributes: 'Access to a resource.',
    SubjectAccessReviewSpec: 'Who wants to do what. Exactly one kind of attributes is set.',
    SubjectAccessReviewStatus: 'Whether it is allowed.',
  },
};

import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    BoundObjectReference: {
      kind: { number: 1, type: 'string', omitempty: true, optional: true, doc: '`Pod` or `Secret`.' },
      apiVersion: {
        number: 2,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: "Group and version of the object's schema.",
      },
      name: { number: 3, type: 'string', omitempty: true, optional: true, doc: 'Name of the object.' },
      uid: {
        number: 4,
        type: 'string',
        omitempty: true,
        optional: true,
        protoName: 'uID',
        doc: 'Identity of the object.',
      },
    },
    ExtraValue: {
      items: { number: 1, type: 'string', repeated: true, jsonWrapper: true, doc: 'The values.' },
    },
    TokenRequest: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'TokenRequestSpec', doc: 'What the object is meant to be.' },
      status: {
        number: 3,
        type: 'TokenRequestStatus',
        omitempty: true,
        optional: true,
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
    TokenRequestSpec: {
      audiences: {
        number: 1,
        type: 'string',
        repeated: true,
        doc: 'Who the token is meant for. Default: the API server.',
      },
      expirationSeconds: {
        number: 4,
        type: 'int64',
        pointer: true,
        optional: true,
        doc: 'Seconds that the token should be valid; the server may give another time. Default 3600, minimum 600.',
      },
      boundObjectRef: {
        number: 3,
        type: 'BoundObjectReference',
        pointer: true,
        optional: true,
        doc: 'Object that the token is bound to: it becomes invalid once that is gone.',
      },
    },
    TokenRequestStatus: {
      token: { number: 1, type: 'string', doc: 'The token.' },
      expirationTimestamp: { number: 2, type: 'meta.v1.Time', doc: 'When it ends.' },
    },
    TokenReview: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'TokenReviewSpec', doc: 'What the object is meant to be.' },
      status: {
        number: 3,
        type: 'TokenReviewStatus',
        omitempty: true,
        optional: true,
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
    TokenReviewSpec: {
      token: { number: 1, type: 'string', omitempty: true, optional: true, doc: 'The token.' },
      audiences: {
        number: 2,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Who it must be meant for, one of these. Default: the API server.',
      },
    },
    TokenReviewStatus: {
      authenticated: { number: 1, type: 'bool', omitempty: true, optional: true, doc: 'Whether the token is valid.' },
      user: { number: 2, type: 'UserInfo', omitempty: true, optional: true, doc: 'Whose it is.' },
      audiences: {
        number: 4,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Those of the asked audiences that it is meant for.',
      },
      error: { number: 3, type: 'string', omitempty: true, optional: true, doc: 'Why the token could not be checked.' },
    },
    UserInfo: {
      username: { number: 1, type: 'string', omitempty: true, optional: true, doc: 'Name of the user.' },
      uid: { number: 2, type: 'string', omitempty: true, optional: true, doc: 'Identity of the user.' },
      groups: {
        number: 3,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Groups that the user belongs to.',
      },
      extra: {
        number: 4,
        type: 'ExtraValue',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Further facts on the user.',
      },
    },
  },
  docs: {
    BoundObjectReference: 'An object that a token is bound to; the token ends with it.',
    ExtraValue: 'Values of a fact about a user.',
    TokenRequest: "Asks for a token of a service account. Posted to the account's `token` subresource.",
    TokenRequestSpec: 'What token is asked for.',
    TokenRequestStatus: 'The token.',
    TokenReview: 'Asks whether a token is valid, and whose it is.',
    TokenReviewSpec: 'The token to look at.',
    TokenReviewStatus: 'What the token is.',
    UserInfo: 'A user.',
  },
  resources: [
    { resource: 'tokenreviews', singular: 'tokenreview', kind: 'TokenReview', namespaced: false, verbs: ['create'] },
  ],
};

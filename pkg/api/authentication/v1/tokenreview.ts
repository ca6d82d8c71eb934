import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    BoundObjectReference: {
      kind: { number: 1, type: 'string', omitempty: true, optional: true },
      apiVersion: { number: 2, type: 'string', omitempty: true, optional: true },
      name: { number: 3, type: 'string', omitempty: true, optional: true },
      uid: { number: 4, type: 'string', omitempty: true, optional: true, protoName: 'uID' },
    },
    ExtraValue: {
      items: { number: 1, type: 'string', repeated: true, jsonWrapper: true },
    },
    TokenRequest: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'TokenRequestSpec' },
      status: { number: 3, type: 'TokenRequestStatus', omitempty: true, optional: true },
    },
    TokenRequestSpec: {
      audiences: { number: 1, type: 'string', repeated: true },
      expirationSeconds: { number: 4, type: 'int64', pointer: true, optional: true },
      boundObjectRef: { number: 3, type: 'BoundObjectReference', pointer: true, optional: true },
    },
    TokenRequestStatus: {
      token: { number: 1, type: 'string' },
      expirationTimestamp: { number: 2, type: 'meta.v1.Time' },
    },
    TokenReview: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'TokenReviewSpec' },
      status: { number: 3, type: 'TokenReviewStatus', omitempty: true, optional: true },
    },
    TokenReviewSpec: {
      token: { number: 1, type: 'string', omitempty: true, optional: true },
      audiences: { number: 2, type: 'string', repeated: true, omitempty: true, optional: true },
    },
    TokenReviewStatus: {
      authenticated: { number: 1, type: 'bool', omitempty: true, optional: true },
      user: { number: 2, type: 'UserInfo', omitempty: true, optional: true },
      audiences: { number: 4, type: 'string', repeated: true, omitempty: true, optional: true },
      error: { number: 3, type: 'string', omitempty: true, optional: true },
    },
    UserInfo: {
      username: { number: 1, type: 'string', omitempty: true, optional: true },
      uid: { number: 2, type: 'string', omitempty: true, optional: true },
      groups: { number: 3, type: 'string', repeated: true, omitempty: true, optional: true },
      extra: { number: 4, type: 'ExtraValue', map: 'string', omitempty: true, optional: true },
    },
  },
  resources: [
    { resource: 'tokenreviews', singular: 'tokenreview', kind: 'TokenReview', namespaced: false, verbs: ['create'] },
  ],
};

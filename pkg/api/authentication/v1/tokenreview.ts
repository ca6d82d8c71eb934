import { defineTypes, message, object, optional, pointer, required, shaped } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    BoundObjectReference: message('An object that a token is bound to; the token ends with it.', {
      kind: optional(1, 'string', '`Pod` or `Secret`.'),
      apiVersion: optional(2, 'string', "Group and version of the object's schema."),
      name: optional(3, 'string', 'Name of the object.'),
      uid: optional(4, 'string', { protoName: 'uID' }, 'Identity of the object.'),
    }),
    ExtraValue: shaped('bareList', 'Values of a fact about a user.', {
      items: required(1, 'string[]', 'The values.'),
    }),
    TokenRequest: object("Asks for a token of a service account. Posted to the account's `token` subresource.", {
      spec: required(2, 'TokenRequestSpec', 'What the object is meant to be.'),
      status: optional(3, 'TokenRequestStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    TokenRequestSpec: message('What token is asked for.', {
      audiences: required(1, 'string[]', 'Who the token is meant for. Default: the API server.'),
      expirationSeconds: pointer(4, 'int64', { omitempty: false, default: 3600 }, 'Seconds that the token should be valid; the server may give another time. Minimum 600.'),
      boundObjectRef: pointer(3, 'BoundObjectReference', { omitempty: false }, 'Object that the token is bound to: it becomes invalid once that is gone.'),
    }),
    TokenRequestStatus: message('The token.', {
      token: required(1, 'string', 'The token.'),
      expirationTimestamp: required(2, 'meta.v1.Time', 'When it ends.'),
    }),
    TokenReview: object('Asks whether a token is valid, and whose it is.', {
      spec: required(2, 'TokenReviewSpec', 'What the object is meant to be.'),
      status: optional(3, 'TokenReviewStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    TokenReviewSpec: message('The token to look at.', {
      token: optional(1, 'string', 'The token.'),
      audiences: optional(2, 'string[]', 'Who it must be meant for, one of these. Default: the API server.'),
    }),
    TokenReviewStatus: message('What the token is.', {
      authenticated: optional(1, 'bool', 'Whether the token is valid.'),
      user: optional(2, 'UserInfo', 'Whose it is.'),
      audiences: optional(4, 'string[]', 'Those of the asked audiences that it is meant for.'),
      error: optional(3, 'string', 'Why the token could not be checked.'),
    }),
    UserInfo: message('A user.', {
      username: optional(1, 'string', 'Name of the user.'),
      uid: optional(2, 'string', 'Identity of the user.'),
      groups: optional(3, 'string[]', 'Groups that the user belongs to.'),
      extra: optional(4, 'map<string, ExtraValue>', 'Further facts on the user.'),
    }),
  },
  resources: [
    {
      resource: 'tokenreviews',
      kind: 'TokenReview',
      namespaced: false,
      verbs: ['create'],
    },
  ],
});

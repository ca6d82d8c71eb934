import { bareKind, defineTypes, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    AdmissionRequest: message('A request that an admission webhook is asked about.', {
      uid: required(1, 'string', 'Identity of this question; the answer repeats it.'),
      kind: required(2, 'meta.v1.GroupVersionKind', 'Kind of the object, as the webhook wants it.'),
      resource: required(3, 'meta.v1.GroupVersionResource', 'Resource of the request, as the webhook wants it.'),
      subResource: optional(4, 'string', 'Subresource of the request, if any.'),
      requestKind: pointer(13, 'meta.v1.GroupVersionKind', 'Kind of the object, as the client sent it.'),
      requestResource: pointer(14, 'meta.v1.GroupVersionResource', 'Resource of the request, as the client sent it.'),
      requestSubResource: optional(15, 'string', 'Subresource of the request, as the client sent it.'),
      name: optional(5, 'string', 'Name of the object. May be empty while it is being created.'),
      namespace: optional(6, 'string', 'Namespace of the object, if any.'),
      operation: required(7, 'string', { enum: 'Operation' }, '`CREATE`, `UPDATE`, `DELETE` or `CONNECT`.'),
      userInfo: required(8, 'authentication.v1.UserInfo', 'Who made the request.'),
      object: optional(9, 'runtime.RawExtension', 'The object as it is to become.'),
      oldObject: optional(10, 'runtime.RawExtension', 'The object as it is.'),
      dryRun: pointer(11, 'bool', 'Whether nothing will be stored, so that there must be no side effects. Default false.'),
      options: optional(12, 'runtime.RawExtension', 'Options of the request.'),
    }),
    AdmissionResponse: message('The answer of an admission webhook.', {
      uid: required(1, 'string', 'Identity of the question.'),
      allowed: required(2, 'bool', 'Whether the request may go on.'),
      status: pointer(3, 'meta.v1.Status', 'Why it may not.'),
      patch: optional(4, 'bytes', 'Changes of the object, in base64.'),
      patchType: pointer(5, 'string', { enum: 'PatchType' }, 'Format of the changes: `JSONPatch`.'),
      auditAnnotations: optional(6, 'map<string, string>', 'Notes for the audit log.'),
      warnings: optional(7, 'string[]', 'Warnings for the client, best below 120 characters each.'),
    }),
    AdmissionReview: bareKind('A question to an admission webhook, or its answer.', {
      request: pointer(1, 'AdmissionRequest', 'The question.'),
      response: pointer(2, 'AdmissionResponse', 'The answer.'),
    }),
  },
  enums: {
    Operation: ['CONNECT', 'CREATE', 'DELETE', 'UPDATE'],
    PatchType: ['JSONPatch'],
  },
});

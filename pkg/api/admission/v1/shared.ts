import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    AdmissionRequest: {
      uid: { number: 1, type: 'string' },
      kind: { number: 2, type: 'meta.v1.GroupVersionKind' },
      resource: { number: 3, type: 'meta.v1.GroupVersionResource' },
      subResource: { number: 4, type: 'string', omitempty: true, optional: true },
      requestKind: { number: 13, type: 'meta.v1.GroupVersionKind', pointer: true, omitempty: true, optional: true },
      requestResource: {
        number: 14,
        type: 'meta.v1.GroupVersionResource',
        pointer: true,
        omitempty: true,
        optional: true,
      },
      requestSubResource: { number: 15, type: 'string', omitempty: true, optional: true },
      name: { number: 5, type: 'string', omitempty: true, optional: true },
      namespace: { number: 6, type: 'string', omitempty: true, optional: true },
      operation: { number: 7, type: 'string', enum: 'Operation' },
      userInfo: { number: 8, type: 'authentication.v1.UserInfo' },
      object: { number: 9, type: 'runtime.RawExtension', omitempty: true, optional: true },
      oldObject: { number: 10, type: 'runtime.RawExtension', omitempty: true, optional: true },
      dryRun: { number: 11, type: 'bool', pointer: true, omitempty: true, optional: true },
      options: { number: 12, type: 'runtime.RawExtension', omitempty: true, optional: true },
    },
    AdmissionResponse: {
      uid: { number: 1, type: 'string' },
      allowed: { number: 2, type: 'bool' },
      status: { number: 3, type: 'meta.v1.Status', pointer: true, omitempty: true, optional: true },
      patch: { number: 4, type: 'bytes', omitempty: true, optional: true },
      patchType: { number: 5, type: 'string', pointer: true, omitempty: true, optional: true, enum: 'PatchType' },
      auditAnnotations: { number: 6, type: 'string', map: 'string', omitempty: true, optional: true },
      warnings: { number: 7, type: 'string', repeated: true, omitempty: true, optional: true },
    },
    AdmissionReview: {
      request: { number: 1, type: 'AdmissionRequest', pointer: true, omitempty: true, optional: true },
      response: { number: 2, type: 'AdmissionResponse', pointer: true, omitempty: true, optional: true },
    },
  },
  enums: {
    Operation: ['CONNECT', 'CREATE', 'DELETE', 'UPDATE'],
    PatchType: ['JSONPatch'],
  },
};

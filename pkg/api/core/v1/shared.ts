import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ConfigMapKeySelector: {
      '~localObjectReference': {
        number: 1,
        type: 'LocalObjectReference',
        inline: true,
        protoName: 'localObjectReference',
      },
      key: { number: 2, type: 'string' },
      optional: { number: 3, type: 'bool', pointer: true, omitempty: true, optional: true },
    },
    List: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', jsonWrapper: true },
      items: { number: 2, type: 'runtime.RawExtension', repeated: true, jsonWrapper: true },
    },
    LocalObjectReference: {
      name: { number: 1, type: 'string', omitempty: true, optional: true },
    },
    ObjectFieldSelector: {
      apiVersion: { number: 1, type: 'string', omitempty: true, optional: true },
      fieldPath: { number: 2, type: 'string' },
    },
    ObjectReference: {
      kind: { number: 1, type: 'string', omitempty: true, optional: true },
      namespace: { number: 2, type: 'string', omitempty: true, optional: true },
      name: { number: 3, type: 'string', omitempty: true, optional: true },
      uid: { number: 4, type: 'string', omitempty: true, optional: true },
      apiVersion: { number: 5, type: 'string', omitempty: true, optional: true },
      resourceVersion: { number: 6, type: 'string', omitempty: true, optional: true },
      fieldPath: { number: 7, type: 'string', omitempty: true, optional: true },
    },
    Preconditions: {
      uid: { number: 1, type: 'string', pointer: true, omitempty: true, optional: true },
    },
    ResourceFieldSelector: {
      containerName: { number: 1, type: 'string', omitempty: true, optional: true },
      resource: { number: 2, type: 'string' },
      divisor: { number: 3, type: 'resource.Quantity', omitempty: true, optional: true },
    },
    SecretKeySelector: {
      '~localObjectReference': {
        number: 1,
        type: 'LocalObjectReference',
        inline: true,
        protoName: 'localObjectReference',
      },
      key: { number: 2, type: 'string' },
      optional: { number: 3, type: 'bool', pointer: true, omitempty: true, optional: true },
    },
    SerializedReference: {
      reference: { number: 1, type: 'ObjectReference', omitempty: true, optional: true },
    },
  },
};

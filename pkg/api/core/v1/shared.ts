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
      key: { number: 2, type: 'string', doc: 'Key to read.' },
      optional: {
        number: 3,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Lets the ConfigMap or the key be absent. Default false.',
      },
    },
    List: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        jsonWrapper: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: {
        number: 2,
        type: 'runtime.RawExtension',
        repeated: true,
        jsonWrapper: true,
        doc: 'The objects of the list.',
      },
    },
    LocalObjectReference: {
      name: { number: 1, type: 'string', omitempty: true, optional: true, doc: 'Name of the object.' },
    },
    ObjectFieldSelector: {
      apiVersion: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Version of the schema that the path is written for. Default `v1`.',
      },
      fieldPath: { number: 2, type: 'string', doc: 'Path of the field, such as `metadata.name`.' },
    },
    ObjectReference: {
      kind: { number: 1, type: 'string', omitempty: true, optional: true, doc: 'Kind of the object.' },
      namespace: { number: 2, type: 'string', omitempty: true, optional: true, doc: 'Namespace of the object.' },
      name: { number: 3, type: 'string', omitempty: true, optional: true, doc: 'Name of the object.' },
      uid: { number: 4, type: 'string', omitempty: true, optional: true, doc: 'Identity of the object.' },
      apiVersion: {
        number: 5,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: "Group and version of the object's schema.",
      },
      resourceVersion: {
        number: 6,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Version of the object that is meant.',
      },
      fieldPath: {
        number: 7,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Part of the object that is meant, such as `spec.containers{name}`.',
      },
    },
    Preconditions: {
      uid: {
        number: 1,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Identity that the object must have.',
      },
    },
    ResourceFieldSelector: {
      containerName: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Container to look at. Required in volumes; default for environment variables: the container itself.',
      },
      resource: {
        number: 2,
        type: 'string',
        doc: "What to take: `limits.cpu`, `requests.memory` and so on. An unset limit gives the node's allocatable amount.",
      },
      divisor: {
        number: 3,
        type: 'resource.Quantity',
        omitempty: true,
        optional: true,
        doc: 'Unit that the value is divided by, rounded up, such as `1m` or `1Mi`. Default `1`.',
      },
    },
    SecretKeySelector: {
      '~localObjectReference': {
        number: 1,
        type: 'LocalObjectReference',
        inline: true,
        protoName: 'localObjectReference',
      },
      key: { number: 2, type: 'string', doc: 'Key to read.' },
      optional: {
        number: 3,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Lets the Secret or the key be absent. Default false.',
      },
    },
    SerializedReference: {
      reference: { number: 1, type: 'ObjectReference', omitempty: true, optional: true, doc: 'The object.' },
    },
  },
  docs: {
    ConfigMapKeySelector: 'One key of a ConfigMap.',
    List: 'A list of objects of any kinds.',
    LocalObjectReference: 'A reference to an object of the same namespace.',
    ObjectFieldSelector: 'A field of the pod.',
    ObjectReference: 'A reference to an object, or to a part of one.',
    Preconditions: 'What must hold of an object before it is deleted.',
    ResourceFieldSelector: 'A resource limit or request of a container, as a number.',
    SecretKeySelector: 'One key of a Secret.',
    SerializedReference: 'A reference to an object, for storage as text.',
  },
};

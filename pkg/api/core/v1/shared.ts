import { atomic, bareKind, defineTypes, inlined, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ConfigMapKeySelector: atomic('One key of a ConfigMap.', {
      '~localObjectReference': inlined(1, 'LocalObjectReference'),
      key: required(2, 'string', 'Key to read.'),
      optional: pointer(3, 'bool', 'Lets the ConfigMap or the key be absent. Default false.'),
    }),
    List: bareKind('A list of objects of any kinds.', {
      metadata: required(1, 'meta.v1.ListMeta', 'Standard list metadata: its resource version, and where to continue when it comes in chunks.'),
      items: required(2, 'runtime.RawExtension[]', 'The objects of the list.'),
    }),
    LocalObjectReference: atomic('A reference to an object of the same namespace.', {
      name: optional(1, 'string', 'Name of the object.'),
    }),
    ObjectFieldSelector: atomic('A field of the pod.', {
      apiVersion: optional(1, 'string', { default: 'v1' }, 'Version of the schema that the path is written for.'),
      fieldPath: required(2, 'string', 'Path of the field, such as `metadata.name`.'),
    }),
    ObjectReference: atomic('A reference to an object, or to a part of one.', {
      kind: optional(1, 'string', 'Kind of the object.'),
      namespace: optional(2, 'string', 'Namespace of the object.'),
      name: optional(3, 'string', 'Name of the object.'),
      uid: optional(4, 'string', 'Identity of the object.'),
      apiVersion: optional(5, 'string', "Group and version of the object's schema."),
      resourceVersion: optional(6, 'string', 'Version of the object that is meant.'),
      fieldPath: optional(7, 'string', 'Part of the object that is meant, such as `spec.containers{name}`.'),
    }),
    Preconditions: message('What must hold of an object before it is deleted.', {
      uid: pointer(1, 'string', 'Identity that the object must have.'),
    }),
    ResourceFieldSelector: atomic('A resource limit or request of a container, as a number.', {
      containerName: optional(1, 'string', 'Container to look at. Required in volumes; default for environment variables: the container itself.'),
      resource: required(2, 'string', "What to take: `limits.cpu`, `requests.memory` and so on. An unset limit gives the node's allocatable amount."),
      divisor: optional(3, 'resource.Quantity', 'Unit that the value is divided by, rounded up, such as `1m` or `1Mi`. Default `1`.'),
    }),
    SecretKeySelector: atomic('One key of a Secret.', {
      '~localObjectReference': inlined(1, 'LocalObjectReference'),
      key: required(2, 'string', 'Key to read.'),
      optional: pointer(3, 'bool', 'Lets the Secret or the key be absent. Default false.'),
    }),
    SerializedReference: bareKind('A reference to an object, for storage as text.', {
      reference: optional(1, 'ObjectReference', 'The object.'),
    }),
  },
});

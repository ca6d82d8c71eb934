import t from 'tap';
import {
  validateAccessReview,
  validateLocalAccessReview,
  validateSelfAccessReview,
} from '#apiserver/authorization/reviews.js';

type Validate = (review: never) => { field: string; message: string }[];
const resource = { verb: 'get', resource: 'pods', namespace: 'ns' };
const path = { verb: 'get', path: '/x' };

t.test('validation of access reviews', (t) => {
  const rows: [validate: Validate, review: object, ...failures: string[]][] = [
    [validateAccessReview, { metadata: {}, spec: { user: 'u', resourceAttributes: resource } }],
    [validateAccessReview, { metadata: { managedFields: [] }, spec: { groups: ['g'], nonResourceAttributes: path } }],
    [
      validateAccessReview,
      { metadata: {}, spec: { user: 'u' } },
      'spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      validateAccessReview,
      { metadata: {}, spec: { user: 'u', resourceAttributes: resource, nonResourceAttributes: path } },
      'spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/x", Verb:"get"}: cannot be specified in combination with resourceAttributes',
    ],
    [
      validateAccessReview,
      { metadata: {}, spec: { resourceAttributes: resource } },
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
    [
      validateAccessReview,
      { metadata: { name: 'a' }, spec: { user: 'u', resourceAttributes: resource } },
      'metadata: Invalid value: v1.ObjectMeta{Name:"a", GenerateName:"", Namespace:"", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string(nil), Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ZZZ_DeprecatedClusterName:"", ManagedFields:[]v1.ManagedFieldsEntry(nil)}: must be empty',
    ],
    [
      validateAccessReview,
      { metadata: { labels: { a: 'b' } } },
      'spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes must be specified',
      'spec.user: Invalid value: "": at least one of user or group must be specified',
      'metadata: Invalid value: v1.ObjectMeta{Name:"", GenerateName:"", Namespace:"", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string{"a":"b"}, Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ZZZ_DeprecatedClusterName:"", ManagedFields:[]v1.ManagedFieldsEntry(nil)}: must be empty',
    ],
    [validateSelfAccessReview, { metadata: {}, spec: { resourceAttributes: resource } }],
    [
      validateSelfAccessReview,
      { metadata: { name: 'a' }, spec: {} },
      'spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes must be specified',
      'metadata: Invalid value: v1.ObjectMeta{Name:"a", GenerateName:"", Namespace:"", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string(nil), Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ZZZ_DeprecatedClusterName:"", ManagedFields:[]v1.ManagedFieldsEntry(nil)}: must be empty',
    ],
    [validateLocalAccessReview, { metadata: { namespace: 'ns' }, spec: { user: 'u', resourceAttributes: resource } }],
    [
      validateLocalAccessReview,
      { metadata: { namespace: 'other', name: 'a' }, spec: { user: 'u', resourceAttributes: resource } },
      'metadata: Invalid value: v1.ObjectMeta{Name:"a", GenerateName:"", Namespace:"", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string(nil), Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ZZZ_DeprecatedClusterName:"", ManagedFields:[]v1.ManagedFieldsEntry(nil)}: must be empty except for namespace',
      'spec.resourceAttributes.namespace: Invalid value: "ns": must match metadata.namespace',
    ],
    [
      validateLocalAccessReview,
      { metadata: { namespace: 'ns' }, spec: { user: 'u', nonResourceAttributes: path } },
      'spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/x", Verb:"get"}: disallowed on this kind of request',
    ],
  ];
  for (const [validate, review, ...failures] of rows) {
    t.strictSame(
      validate(review as never).map(({ field, message }) => `${field}: ${message}`),
      failures,
      JSON.stringify(review),
    );
  }
  t.end();
});

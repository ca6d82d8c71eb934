/**
 * Messages that server-side apply takes as one piece wherever they stand: references and selectors, whose parts mean
 * nothing without each other. As of release 1.24 (`+structType=atomic` on the type).
 */
export const atomicTypes: ReadonlySet<string> = new Set([
  'autoscaling.v1.CrossVersionObjectReference',
  'autoscaling.v2.CrossVersionObjectReference',
  'core.v1.ConfigMapKeySelector',
  'core.v1.EndpointAddress',
  'core.v1.EndpointPort',
  'core.v1.LocalObjectReference',
  'core.v1.NodeSelector',
  'core.v1.NodeSelectorTerm',
  'core.v1.ObjectFieldSelector',
  'core.v1.ObjectReference',
  'core.v1.ResourceFieldSelector',
  'core.v1.ScopeSelector',
  'core.v1.ScopedResourceSelectorRequirement',
  'core.v1.SecretKeySelector',
  'core.v1.SecretReference',
  'core.v1.TopologySelectorTerm',
  'core.v1.TypedLocalObjectReference',
  'discovery.v1.EndpointPort',
  'meta.v1.LabelSelector',
  'meta.v1.OwnerReference',
  'rbac.v1.RoleRef',
  'rbac.v1.Subject',
]);

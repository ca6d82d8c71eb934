/** The strategy of every resource. A kind without rules of its own gets the generic one. */
import { deploymentStrategy } from '#api/apps/v1/deployment/strategy.js';
import { replicaSetStrategy } from '#api/apps/v1/replicaset/strategy.js';
import { leaseStrategy } from '#api/coordination/v1/lease/strategy.js';
import { configMapStrategy } from '#api/core/v1/configmap/strategy.js';
import { endpointsStrategy } from '#api/core/v1/endpoints/strategy.js';
import { eventStrategy } from '#api/core/v1/event/strategy.js';
import { namespaceStrategy } from '#api/core/v1/namespace/strategy.js';
import { nodeStrategy } from '#api/core/v1/node/strategy.js';
import { podStrategy } from '#api/core/v1/pod/strategy.js';
import { secretStrategy } from '#api/core/v1/secret/strategy.js';
import { serviceStrategy } from '#api/core/v1/service/strategy.js';
import { serviceAccountStrategy } from '#api/core/v1/serviceaccount/strategy.js';
import { endpointSliceStrategy } from '#api/discovery/v1/endpointslice/strategy.js';
import { eventsV1Strategy } from '#api/events/v1/event/strategy.js';
import { clusterRoleBindingStrategy, roleBindingStrategy } from '#api/rbac/v1/binding/strategy.js';
import { clusterRoleStrategy, roleStrategy } from '#api/rbac/v1/role/strategy.js';
import { priorityClassStrategy } from '#api/scheduling/v1/priorityclass/strategy.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';

function keyOf(resource: ResourceDeclaration): string {
  return `${resource.group}/${resource.version}/${resource.resource}`;
}

const own: ReadonlyMap<string, Strategy> = new Map<string, Strategy>([
  ['apps/v1/deployments', deploymentStrategy],
  ['apps/v1/replicasets', replicaSetStrategy],
  ['coordination/v1/leases', leaseStrategy],
  ['core/v1/configmaps', configMapStrategy],
  ['core/v1/endpoints', endpointsStrategy],
  ['core/v1/events', eventStrategy],
  ['core/v1/namespaces', namespaceStrategy],
  ['core/v1/nodes', nodeStrategy],
  ['core/v1/pods', podStrategy],
  ['core/v1/secrets', secretStrategy],
  ['core/v1/serviceaccounts', serviceAccountStrategy],
  ['core/v1/services', serviceStrategy],
  ['discovery/v1/endpointslices', endpointSliceStrategy],
  ['events/v1/events', eventsV1Strategy],
  ['rbac/v1/clusterrolebindings', clusterRoleBindingStrategy],
  ['rbac/v1/clusterroles', clusterRoleStrategy],
  ['rbac/v1/rolebindings', roleBindingStrategy],
  ['rbac/v1/roles', roleStrategy],
  ['scheduling/v1/priorityclasses', priorityClassStrategy],
]);

/** What is particular to the resource; ask once and keep it. */
export function strategyFor(resource: ResourceDeclaration): Strategy {
  return own.get(keyOf(resource)) ?? kindStrategy(resource);
}

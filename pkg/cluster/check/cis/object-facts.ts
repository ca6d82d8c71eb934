/** Objects of the API that the checks look at. */
import { namespaces, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Namespace, Pod, ServiceAccount } from '#api/core/v1/types.gen.js';
import { networkpolicies } from '#api/networking/v1/resources.gen.js';
import type { NetworkPolicy } from '#api/networking/v1/types.gen.js';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '#api/rbac/v1/types.gen.js';
import type { RestClient } from '#client/rest/rest-client.js';

export interface ObjectFacts {
  readonly clusterRoles: readonly ClusterRole[];
  readonly clusterRoleBindings: readonly ClusterRoleBinding[];
  readonly roles: readonly Role[];
  readonly roleBindings: readonly RoleBinding[];
  readonly accounts: readonly ServiceAccount[];
  readonly namespaces: readonly Namespace[];
  readonly pods: readonly Pod[];
  readonly networkPolicies: readonly NetworkPolicy[];
}

/** Reads them with one list each. Rejects with the client's errors. */
export async function objectFacts(client: RestClient): Promise<ObjectFacts> {
  const [roleList, bindings, own, ownBindings] = await Promise.all([
    client.resource(clusterroles).list(),
    client.resource(clusterrolebindings).list(),
    client.resource(roles).list(),
    client.resource(rolebindings).list(),
  ]);
  const [accounts, spaces, podList, policies] = await Promise.all([
    client.resource(serviceaccounts).list(),
    client.resource(namespaces).list(),
    client.resource(pods).list(),
    client.resource(networkpolicies).list(),
  ]);
  return {
    clusterRoles: roleList.items,
    clusterRoleBindings: bindings.items,
    roles: own.items,
    roleBindings: ownBindings.items,
    accounts: accounts.items,
    namespaces: spaces.items,
    pods: podList.items,
    networkPolicies: policies.items,
  };
}

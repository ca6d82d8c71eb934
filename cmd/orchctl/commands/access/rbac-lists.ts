/** Roles and bindings of the server, as the user may list them. */
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '#api/rbac/v1/types.gen.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { RbacObjects } from '#apiserver/authorization/rbac/rbac-index.js';
import type { ApiObject } from '#client/client.js';
import type { Api } from '#cmd/orchctl/api/api.js';

/** Undefined if the user may not list them, or the server has none. */
export async function listRbac(api: Api): Promise<RbacObjects | undefined> {
  const catalog = await api.catalog();
  const group = catalog.dialect.groupName('rbac');
  const isServed = catalog.all.some((resource) => resource.group === group);
  if (!isServed) return undefined;
  const list = async <T>(resource: string) =>
    (await api.list<ApiObject>(catalog.one(`${resource}.${group}`), {})) as T[];
  try {
    const [roles, clusterRoles, roleBindings, clusterRoleBindings] = await Promise.all([
      list<Role>('roles'),
      list<ClusterRole>('clusterroles'),
      list<RoleBinding>('rolebindings'),
      list<ClusterRoleBinding>('clusterrolebindings'),
    ]);
    return { roles, clusterRoles, roleBindings, clusterRoleBindings };
  } catch (error) {
    if (statusOf(error)?.code === 403) return undefined;
    throw error;
  }
}

/** The rights of Prometheus: read `/metrics` of API servers, find nodes and servers, and read the metrics of nodes. */
import { clusterrolebindings, clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, ClusterRoleBinding } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { ensureObject } from '#cluster/objects/ensure-object.js';

/** Creates or updates the role and its binding. */
export async function setUpMonitoringAccess(client: Client): Promise<void> {
  await ensureObject(client.resource(clusterroles), monitoringRole(client.dialect));
  await ensureObject(client.resource(clusterrolebindings), monitoringBinding(client.dialect));
}

const roleName = ({ product }: Dialect): string => `${product}:monitoring`;

function monitoringRole(dialect: Dialect): ClusterRole {
  return {
    metadata: { name: roleName(dialect) },
    rules: [
      { apiGroups: [''], resources: ['nodes', 'endpoints', 'services', 'pods'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] },
      { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    ],
  };
}

function monitoringBinding(dialect: Dialect): ClusterRoleBinding {
  const apiGroup = dialect.groupName('rbac');
  return {
    metadata: { name: roleName(dialect) },
    roleRef: { apiGroup, kind: 'ClusterRole', name: roleName(dialect) },
    subjects: [{ apiGroup, kind: 'Group', name: dialect.groups.monitoring }],
  };
}

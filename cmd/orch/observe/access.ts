/** What Prometheus may do in a cluster besides reading `/metrics` of API servers: find nodes and servers, and read nodes' metrics. */
import { clusterrolebindings, clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, ClusterRoleBinding } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { ensureObject } from '#cmd/orch/joining/ensure-object.js';

/** Makes what is missing, and sets right what differs. */
export async function setUpMonitoringAccess(client: Client): Promise<void> {
  await ensureObject(client.resource(clusterroles), monitoringRole(client.dialect));
  await ensureObject(client.resource(clusterrolebindings), monitoringBinding(client.dialect));
}

const nameOf = ({ product }: Dialect): string => `${product}:monitoring`;

function monitoringRole(dialect: Dialect): ClusterRole {
  return {
    metadata: { name: nameOf(dialect) },
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
    metadata: { name: nameOf(dialect) },
    roleRef: { apiGroup, kind: 'ClusterRole', name: nameOf(dialect) },
    subjects: [{ apiGroup, kind: 'Group', name: dialect.groups.monitoring }],
  };
}

/**
 * The rights by which nodes join and leave: read the cluster info, request a node's certificates with a token, renew them
 * as the node, and delete the node. kubeadm grants the same, except for serving certificates and leaving.
 */
import { clusterInfoName } from '#api/core/v1/configmap/cluster-info.js';
import { joiningGroup } from '#api/core/v1/secret/bootstrap-token.js';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, Subject } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { ensureObject } from '#cluster/objects/ensure-object.js';
import { nodeSettingsName } from '#cluster/objects/node-settings.js';

interface JoiningAccess {
  readonly clusterRoles: readonly ClusterRole[];
  readonly clusterRoleBindings: readonly ClusterRoleBinding[];
  readonly roles: readonly Role[];
  readonly roleBindings: readonly RoleBinding[];
}

/** Creates or updates all roles and bindings. */
export async function setUpJoiningAccess(client: Client): Promise<void> {
  const access = joiningAccess(client.dialect);
  await Promise.all([
    ...access.clusterRoles.map((role) => ensureObject(client.resource(clusterroles), role)),
    ...access.clusterRoleBindings.map((binding) => ensureObject(client.resource(clusterrolebindings), binding)),
    ...access.roles.map((role) => ensureObject(client.resource(roles), role)),
    ...access.roleBindings.map((binding) => ensureObject(client.resource(rolebindings), binding)),
  ]);
}

/** Pure. */
function joiningAccess(dialect: Dialect): JoiningAccess {
  const { groups, namespaces, product, signers, users } = dialect;
  const apiGroup = dialect.groupName('rbac');
  const group = (name: string): Subject => ({ kind: 'Group', apiGroup, name });
  const user = (name: string): Subject => ({ kind: 'User', apiGroup, name });
  const joining = group(joiningGroup(dialect));
  const certificates = dialect.groupName('certificates');
  const requests = `system:${certificates}:certificatesigningrequests`;
  const [, servingSigner = ''] = signers.nodeAgentServing.split('/');
  const binding = (name: string, role: string, ...subjects: Subject[]): ClusterRoleBinding => ({
    metadata: { name: `${product}:${name}` },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects,
  });
  const readsMap = (name: string, namespace: string, map: string, ...subjects: Subject[]) => ({
    role: {
      metadata: { name: `${product}:${name}`, namespace },
      rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [map], verbs: ['get'] }],
    } satisfies Role,
    binding: {
      metadata: { name: `${product}:${name}`, namespace },
      roleRef: { apiGroup, kind: 'Role', name: `${product}:${name}` },
      subjects,
    } satisfies RoleBinding,
  });
  const readers = [
    readsMap('cluster-info', namespaces.public, clusterInfoName, user(users.anonymous)),
    readsMap('node-settings', namespaces.system, nodeSettingsName, joining, group(groups.nodes)),
  ];
  const account: Subject = { kind: 'ServiceAccount', name: 'certificate-controller', namespace: namespaces.system };
  const serving = `${product}:self-node-serving`;
  const leaving = `${product}:self-node-leaving`;
  return {
    clusterRoles: [
      {
        metadata: { name: serving },
        rules: [
          { apiGroups: [certificates], resources: ['certificatesigningrequests/selfnodeserving'], verbs: ['create'] },
        ],
      },
      {
        // Admission limits each node to itself.
        metadata: { name: leaving },
        rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['delete'] }],
      },
      {
        metadata: { name: `${product}:get-nodes` },
        rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }],
      },
    ],
    clusterRoleBindings: [
      binding('node-bootstrap', 'system:node-bootstrapper', joining),
      binding('get-nodes', `${product}:get-nodes`, joining),
      binding('node-autoapprove-bootstrap', `${requests}:nodeclient`, joining),
      binding('node-autoapprove-certificate-rotation', `${requests}:selfnodeclient`, group(groups.nodes)),
      binding('self-node-leaving', leaving, group(groups.nodes)),
      binding('node-autoapprove-serving', serving, group(groups.nodes)),
      binding(
        'node-serving-approver',
        `system:${certificates}:${servingSigner}-approver`,
        account,
        user(users.controllerManager),
      ),
    ],
    roles: readers.map(({ role }) => role),
    roleBindings: readers.map(({ binding }) => binding),
  };
}

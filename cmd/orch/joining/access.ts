/**
 * Who may do what so that nodes can join: read who the cluster is, ask for a node's certificates with a token, and renew
 * them as the node. Rights that kubeadm gives, and beyond them those for serving certificates, which it leaves to others, and
 * to leave.
 */
import { clusterInfoName } from '#api/core/v1/configmap/cluster-info.js';
import { joiningGroup } from '#api/core/v1/secret/bootstrap-token.js';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, Subject } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { ensureObject } from '#cmd/orch/joining/ensure-object.js';
import { nodeSettingsName } from '#cmd/orch/joining/node-settings.js';

interface JoiningAccess {
  readonly clusterRoles: readonly ClusterRole[];
  readonly clusterRoleBindings: readonly ClusterRoleBinding[];
  readonly roles: readonly Role[];
  readonly roleBindings: readonly RoleBinding[];
}

/** Makes what is missing, and sets right what differs. */
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
  const bound = (name: string, role: string, ...subjects: Subject[]): ClusterRoleBinding => ({
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
        // Admission lets each node delete itself alone.
        metadata: { name: leaving },
        rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['delete'] }],
      },
      {
        metadata: { name: `${product}:get-nodes` },
        rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }],
      },
    ],
    clusterRoleBindings: [
      bound('node-bootstrap', 'system:node-bootstrapper', joining),
      bound('get-nodes', `${product}:get-nodes`, joining),
      bound('node-autoapprove-bootstrap', `${requests}:nodeclient`, joining),
      bound('node-autoapprove-certificate-rotation', `${requests}:selfnodeclient`, group(groups.nodes)),
      bound('self-node-leaving', leaving, group(groups.nodes)),
      bound('node-autoapprove-serving', serving, group(groups.nodes)),
      bound(
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

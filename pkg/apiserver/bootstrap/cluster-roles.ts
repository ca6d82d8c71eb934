/** The default ClusterRoles. */
import type { ClusterRole, PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { controllerRulesFor, type Gate } from '#apiserver/bootstrap/controller-roles.js';
import { rule } from '#apiserver/bootstrap/rule-notation.js';

const read = 'get list watch';
const write = 'create delete deletecollection patch update';
const events = 'create patch update | core events | events';

/** Label of roles whose rules are aggregated into `admin`, `edit` or `view`. */
const aggregationLabel = (dialect: Dialect, to: string): string =>
  `rbac.authorization.${dialect.apiDomain}/aggregate-to-${to}`;

/** Rules of every node agent; in clusters without the node authorizer, these are all its rules. */
export function nodeRules(dialect: Dialect): PolicyRule[] {
  return [
    'create | authentication | tokenreviews',
    'create | authorization | localsubjectaccessreviews subjectaccessreviews',
    `${read} | core | services`,
    'create get list watch | core | nodes',
    'patch update | core | nodes/status',
    'patch update | core | nodes',
    events,
    `create delete ${read} | core | pods`,
    'patch update | core | pods/status',
    'create | core | pods/eviction',
    `${read} | core | configmaps secrets`,
    'get | core | persistentvolumeclaims persistentvolumes',
    'get | core | endpoints',
    'create get list watch | certificates | certificatesigningrequests',
    'create delete get patch update | coordination | leases',
    'get | storage | volumeattachments',
    'create | core | serviceaccounts/token',
    'get patch update | core | persistentvolumeclaims/status',
    `${read} | storage | csidrivers`,
    'create delete get patch update | storage | csinodes',
    `${read} | node | runtimeclasses`,
  ].map((text) => rule(dialect, text));
}

export function bootstrapClusterRoles(dialect: Dialect, gate: Gate): ClusterRole[] {
  const role = (name: string, texts: readonly string[], labels: Record<string, string> = {}): ClusterRole => ({
    metadata: { name, labels },
    rules: texts.map((text) => rule(dialect, text)),
  });
  const roles = [...userRoles(dialect, role), ...systemRoles(dialect, role), ...signerRoles(dialect, role)];
  roles.push({ metadata: { name: 'system:node' }, rules: nodeRules(dialect) });
  for (const [name, texts] of Object.entries(controllerRulesFor(gate)))
    roles.push(role(`system:controller:${name}`, texts));
  return roles.map((clusterRole) => withBootstrapMarks(clusterRole, dialect));
}

type MakeRole = (name: string, texts: readonly string[], labels?: Record<string, string>) => ClusterRole;

/** Labels and annotations of default objects. */
export function withBootstrapMarks<T extends ClusterRole>(object: T, dialect: Dialect): T {
  const { metadata } = object;
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: { [dialect.labels.bootstrapping]: 'rbac-defaults', ...metadata.labels },
      annotations: { [dialect.annotations.autoUpdate]: 'true', ...metadata.annotations },
    },
  };
}

/** Roles for people: cluster-admin, and admin ⊃ edit ⊃ view, which aggregate all labelled roles. */
function userRoles(dialect: Dialect, role: MakeRole): ClusterRole[] {
  const label = (to: string) => ({ [aggregationLabel(dialect, to)]: 'true' });
  const aggregated = (name: string, labels: Record<string, string> = {}): ClusterRole => ({
    metadata: { name, labels },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: label(name) }] },
  });
  return [
    role('cluster-admin', ['* | * | *', '* | *']),
    aggregated('admin'),
    aggregated('edit', label('admin')),
    aggregated('view', label('edit')),
    role(
      'system:aggregate-to-admin',
      ['create | authorization | localsubjectaccessreviews', `${write} ${read} | rbac | rolebindings roles`],
      label('admin'),
    ),
    // The same as in metrics-server's manifests.
    role('system:aggregated-metrics-reader', [`${read} | metrics | pods nodes`], {
      ...label('admin'),
      ...label('edit'),
      ...label('view'),
    }),
    role('system:aggregate-to-edit', editRules, label('edit')),
    role('system:aggregate-to-view', viewRules, label('view')),
  ];
}

const editRules = [
  `${read} | core | pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy`,
  'impersonate | core | serviceaccounts',
  `${write} | core | pods pods/attach pods/exec pods/portforward pods/proxy`,
  'create | core | pods/eviction',
  `${write} | core | configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy`,
  'create | core | serviceaccounts/token',
  `${write} | apps | daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale`,
  `${write} | autoscaling | horizontalpodautoscalers`,
  `${write} | batch | cronjobs jobs`,
  `${write} | policy | poddisruptionbudgets`,
  `${write} | networking | ingresses networkpolicies`,
];

const viewRules = [
  `${read} | core | configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status`,
  `${read} | core | bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status`,
  `${read} | core | namespaces`,
  `${read} | discovery | endpointslices`,
  `${read} | apps | controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status`,
  `${read} | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status`,
  `${read} | batch | cronjobs cronjobs/status jobs jobs/status`,
  `${read} | policy | poddisruptionbudgets poddisruptionbudgets/status`,
  `${read} | networking | ingresses ingresses/status networkpolicies`,
];

/** Roles for daemons, and for public information. */
function systemRoles({ components, shortName: short }: Dialect, role: MakeRole): ClusterRole[] {
  const { controllerManager, scheduler, nodeAgent } = components;
  const delegation = ['create | authentication | tokenreviews', 'create | authorization | subjectaccessreviews'];
  const lock = (name: string) => [
    'create | coordination | leases',
    `get patch update | coordination | leases | ${name}`,
    'create | core | endpoints',
    `get update | core | endpoints | ${name}`,
  ];
  return [
    role('system:auth-delegator', delegation),
    role('system:basic-user', ['create | authorization | selfsubjectaccessreviews selfsubjectrulesreviews']),
    role('system:discovery', [
      'get | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/',
    ]),
    role('system:public-info-viewer', ['get | /healthz /livez /readyz /version /version/']),
    role('system:monitoring', ['get | /healthz /healthz/* /livez /livez/* /metrics /readyz /readyz/*']),
    role('system:service-account-issuer-discovery', ['get | /.well-known/openid-configuration /openid/v1/jwks']),
    role(`system:${short}-aggregator`, [`${read} | core | endpoints services`]),
    role(`system:${controllerManager}`, [
      events,
      ...lock(controllerManager),
      'create | core | secrets serviceaccounts',
      'delete | core | secrets',
      'get | core | configmaps namespaces secrets serviceaccounts',
      'update | core | secrets serviceaccounts',
      ...delegation,
      'list watch | * | *',
      'create | core | serviceaccounts/token',
    ]),
    role(`system:${scheduler}`, [
      events,
      ...lock(scheduler),
      `${read} | core | nodes namespaces`,
      `delete patch ${read} | core | pods`,
      'create | core | bindings pods/binding',
      'patch update | core | pods/status',
      `${read} | core | replicationcontrollers services`,
      `${read} | apps | replicasets statefulsets`,
      `${read} | policy | poddisruptionbudgets`,
      `${read} | core | persistentvolumeclaims persistentvolumes`,
      `${read} | storage | csinodes csidrivers csistoragecapacities storageclasses`,
      ...delegation,
    ]),
    role('system:volume-scheduler', [
      'get list patch update watch | core | persistentvolumes',
      `${read} | storage | storageclasses`,
      'get list patch update watch | core | persistentvolumeclaims',
    ]),
    role(`system:${short}-dns`, ['list watch | core | endpoints services', 'list watch | discovery | endpointslices']),
    role(`system:${nodeAgent}-api-admin`, [
      `${read} | core | nodes`,
      'proxy | core | nodes',
      '* | core | nodes/log nodes/metrics nodes/proxy nodes/spec nodes/stats',
    ]),
    role('system:node-bootstrapper', ['create get list watch | certificates | certificatesigningrequests']),
    role('system:node-problem-detector', ['get | core | nodes', 'patch | core | nodes/status', events]),
    role('system:node-proxier', [
      'list watch | core | endpoints services',
      `${read} | core | nodes`,
      events,
      'list watch | discovery | endpointslices',
    ]),
    role(`system:${short}-network-policies`, [
      'list watch | core | namespaces pods',
      'list watch | networking | networkpolicies',
    ]),
    role('system:persistent-volume-provisioner', [
      `create delete ${read} | core | persistentvolumes`,
      'get list update watch | core | persistentvolumeclaims',
      `${read} | storage | storageclasses`,
      'watch | core | events',
      events,
    ]),
    role('system:heapster', [`${read} | core | events namespaces nodes pods`, `${read} | apps | deployments`]),
  ];
}

/** Roles for approving certificates, and for the controller that approves and signs them. */
function signerRoles({ signers, groupName }: Dialect, role: MakeRole): ClusterRole[] {
  const prefix = `system:${groupName('certificates')}:`;
  const approver = (signer: string) =>
    role(`${prefix}${signer.slice(signer.indexOf('/') + 1)}-approver`, [
      `approve | certificates | signers | ${signer}`,
    ]);
  return [
    role(`${prefix}certificatesigningrequests:nodeclient`, [
      'create | certificates | certificatesigningrequests/nodeclient',
    ]),
    role(`${prefix}certificatesigningrequests:selfnodeclient`, [
      'create | certificates | certificatesigningrequests/selfnodeclient',
    ]),
    ...Object.values(signers).map(approver),
    role('system:controller:certificate-controller', [
      `delete ${read} | certificates | certificatesigningrequests`,
      'update | certificates | certificatesigningrequests/approval certificatesigningrequests/status',
      `approve | certificates | signers | ${signers.apiServerClientNodeAgent}`,
      `sign | certificates | signers | ${Object.values(signers).join(' ')}`,
      'create | authorization | subjectaccessreviews',
      events,
    ]),
  ];
}

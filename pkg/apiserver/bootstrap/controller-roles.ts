/** The rules of `system:controller:<name>`, the role of each controller's service account. */

/** True when the feature gate is on. */
export type Gate = (name: string) => boolean;

const events = 'create patch update | core events | events';

/** Service account name → rules in the notation of `rule`; the same as in release 1.24. */
const controllerRules: Readonly<Record<string, readonly string[]>> = {
  'attachdetach-controller': [
    'list watch | core | persistentvolumeclaims persistentvolumes',
    'get list watch | core | nodes',
    'patch update | core | nodes/status',
    'list watch | core | pods',
    'create delete get list patch watch | storage | volumeattachments',
    'get list watch | storage | csidrivers csinodes',
    events,
  ],
  'clusterrole-aggregation-controller': ['escalate get list patch update watch | rbac | clusterroles'],
  'cronjob-controller': [
    'get list patch update watch | batch | cronjobs',
    'create delete get list patch update watch | batch | jobs',
    'patch update | batch | cronjobs/status',
    'update | batch | cronjobs/finalizers',
    'delete list | core | pods',
    events,
  ],
  'daemon-set-controller': [
    'get list watch | apps | daemonsets',
    'patch update | apps | daemonsets/status',
    'update | apps | daemonsets/finalizers',
    'list watch | core | nodes',
    'create delete list patch watch | core | pods',
    'create | core | pods/binding',
    'create delete get list patch update watch | apps | controllerrevisions',
    events,
  ],
  'deployment-controller': [
    'get list patch update watch | apps | deployments',
    'patch update | apps | deployments/status',
    'update | apps | deployments/finalizers',
    'create delete get list patch update watch | apps | replicasets',
    'get list update watch | core | pods',
    events,
  ],
  'disruption-controller': [
    'get list watch | apps | deployments replicasets statefulsets',
    'get list watch | core | replicationcontrollers',
    'get list watch | policy | poddisruptionbudgets',
    'patch update | policy | poddisruptionbudgets/status',
    'get list patch watch | core | pods',
    'patch update | core | pods/status',
    'get | * | */scale',
    events,
  ],
  'endpoint-controller': [
    'get list watch | core | pods services',
    'create delete get list update watch | core | endpoints',
    'create | core | endpoints/restricted',
    events,
  ],
  'endpointslice-controller': [
    'get list watch | core | nodes pods services',
    'update | core | services/finalizers',
    'create delete get list update watch | discovery | endpointslices',
    'create | discovery | endpointslices/restricted',
    events,
  ],
  'endpointslicemirroring-controller': [
    'get list watch | core | endpoints services',
    'update | core | services/finalizers endpoints/finalizers',
    'create delete get list update watch | discovery | endpointslices',
    'create | discovery | endpointslices/restricted',
    events,
  ],
  'ephemeral-volume-controller': [
    'get list watch | core | pods',
    'update | core | pods/finalizers',
    'create get list watch | core | persistentvolumeclaims',
    events,
  ],
  'expand-controller': [
    'get list patch update watch | core | persistentvolumes',
    'patch update | core | persistentvolumeclaims/status',
    'get list watch | core | persistentvolumeclaims',
    'get list watch | storage | storageclasses',
    'get | core | endpoints services secrets',
    events,
  ],
  'generic-garbage-collector': ['delete get list patch update watch | * | *', events],
  'horizontal-pod-autoscaler': [
    'get list watch | autoscaling | horizontalpodautoscalers',
    'patch update | autoscaling | horizontalpodautoscalers/status',
    'get update | * | */scale',
    'list watch | core | pods',
    'list | metrics | pods',
    'get list | custom.metrics external.metrics | *',
    events,
  ],
  'job-controller': [
    'get list patch update watch | batch | jobs',
    'patch update | batch | jobs/status',
    'update | batch | jobs/finalizers',
    'create delete list patch watch | core | pods',
    events,
  ],
  'local-storage-capacity-controller': [
    'get list watch | core | nodes persistentvolumes',
    'get list watch | storage | storageclasses',
    'create delete get list update watch | storage | csistoragecapacities',
  ],
  'namespace-controller': [
    'delete get list watch | core | namespaces',
    'update | core | namespaces/finalize namespaces/status',
    'delete deletecollection get list | * | *',
  ],
  'node-controller': [
    'delete get list patch update watch | core | nodes',
    'patch update | core | nodes/status',
    'patch update | core | pods/status',
    'delete get list watch | core | pods',
    'get list watch | coordination | leases',
    'get list watch | apps | daemonsets',
    'get list watch | networking | clustercidrs',
    events,
  ],
  'persistent-volume-binder': [
    'create delete get list patch update watch | core | persistentvolumes',
    'patch update | core | persistentvolumes/status',
    'get list patch update watch | core | persistentvolumeclaims',
    'patch update | core | persistentvolumeclaims/status',
    'create delete get list watch | core | pods',
    'get list watch | storage | storageclasses',
    'get list watch | storage | csidrivers csinodes',
    'create delete get update | core | endpoints',
    'create delete get | core | services',
    'get | core | secrets',
    'get list watch | core | nodes',
    // For volumes in directories of nodes.
    'delete update | core | nodes/proxy',
    'watch | core | events',
    events,
  ],
  'pod-garbage-collector': [
    'delete list watch | core | pods',
    'patch | core | pods/status',
    'get list watch | core | nodes',
  ],
  'pv-protection-controller': ['get list update watch | core | persistentvolumes', events],
  'pvc-protection-controller': [
    'get list update watch | core | persistentvolumeclaims',
    'get list watch | core | pods',
    events,
  ],
  'replicaset-controller': [
    'get list patch update watch | apps | replicasets',
    'patch update | apps | replicasets/status',
    'update | apps | replicasets/finalizers',
    'create delete list patch watch | core | pods',
    events,
  ],
  'replication-controller': [
    'get list patch update watch | core | replicationcontrollers',
    'patch update | core | replicationcontrollers/status',
    'update | core | replicationcontrollers/finalizers',
    'create delete list patch watch | core | pods',
    events,
  ],
  'resourcequota-controller': ['list watch | * | *', 'patch update | core | resourcequotas/status', events],
  'roll-on-change-controller': [
    'list watch | core | configmaps secrets',
    'list patch watch | apps | daemonsets deployments statefulsets',
    events,
  ],
  'root-ca-cert-publisher': [
    'get list watch | core | namespaces',
    'create get list update watch | core | configmaps',
    events,
  ],
  'route-controller': ['list watch | core | nodes', 'patch | core | nodes/status', events],
  'service-account-controller': [
    'get list watch | core | namespaces',
    'create get list watch | core | serviceaccounts',
    events,
  ],
  'service-controller': [
    'get list watch | core | services',
    'patch update | core | services/status',
    'list watch | core | nodes',
    events,
  ],
  'statefulset-controller': [
    'get list watch | apps | statefulsets',
    'patch update | apps | statefulsets/status',
    'update | apps | statefulsets/finalizers',
    'create delete get list patch update watch | core | pods',
    'create delete get list patch update watch | apps | controllerrevisions',
    'create delete get list update watch | core | persistentvolumeclaims',
    events,
  ],
  'ttl-after-finished-controller': ['delete get list watch | batch | jobs', events],
  'ttl-controller': ['list patch update watch | core | nodes', events],
};

/** The controller runs only with the feature gates of storage versions. */
const storageVersionRules: Readonly<Record<string, readonly string[]>> = {
  'storage-version-garbage-collector': [
    'get list watch | coordination | leases',
    'delete get list patch update watch | apiserverinternal | storageversions',
    'get patch update | apiserverinternal | storageversions/status',
  ],
};

export function controllerRulesFor(gate: Gate): Readonly<Record<string, readonly string[]>> {
  const gated = gate('APIServerIdentity') && gate('StorageVersionAPI');
  return gated ? { ...controllerRules, ...storageVersionRules } : controllerRules;
}

/** The controllers that `--controllers` selects. */
import type { FeatureGates } from '#daemon/options/groups/feature-gates.js';

/** Controllers by name; `*` includes those on by default. All of release 1.24, and two of our own. */
export const controllerNames: Readonly<Record<string, { readonly onByDefault: boolean }>> = Object.fromEntries(
  [
    'attachdetach',
    'bootstrapsigner',
    'cloud-node-lifecycle',
    'clusterrole-aggregation',
    'cronjob',
    'csrapproving',
    'csrcleaner',
    'csrsigning',
    'daemonset',
    'deployment',
    'disruption',
    'endpoint',
    'endpointslice',
    'endpointslicemirroring',
    'ephemeral-volume',
    'garbagecollector',
    'horizontalpodautoscaling',
    'job',
    'local-storage-capacity',
    'namespace',
    'nodeipam',
    'nodelifecycle',
    'persistentvolume-binder',
    'persistentvolume-expander',
    'podgc',
    'pv-protection',
    'pvc-protection',
    'replicaset',
    'replicationcontroller',
    'resourcequota',
    'roll-on-change',
    'root-ca-cert-publisher',
    'route',
    'service',
    'serviceaccount',
    'serviceaccount-token',
    'statefulset',
    'tokencleaner',
    'ttl',
    'ttl-after-finished',
  ].map((name) => [name, { onByDefault: name !== 'bootstrapsigner' && name !== 'tokencleaner' }]),
);

/** Additional controllers, on by default, of enabled feature gates. */
export function gatedControllers(gates: FeatureGates): string[] {
  return gates.enabled('APIServerIdentity') && gates.enabled('StorageVersionAPI') ? ['storage-version-gc'] : [];
}

/** Service accounts of release 1.24 that are not named `<controller>-controller`. */
const accountNames: Readonly<Record<string, string>> = {
  bootstrapsigner: 'bootstrap-signer',
  'cloud-node-lifecycle': 'node-controller',
  csrapproving: 'certificate-controller',
  csrcleaner: 'certificate-controller',
  csrsigning: 'certificate-controller',
  daemonset: 'daemon-set-controller',
  garbagecollector: 'generic-garbage-collector',
  horizontalpodautoscaling: 'horizontal-pod-autoscaler',
  nodeipam: 'node-controller',
  nodelifecycle: 'node-controller',
  'persistentvolume-binder': 'persistent-volume-binder',
  'persistentvolume-expander': 'expand-controller',
  podgc: 'pod-garbage-collector',
  replicationcontroller: 'replication-controller',
  'root-ca-cert-publisher': 'root-ca-cert-publisher',
  serviceaccount: 'service-account-controller',
  'serviceaccount-token': 'tokens-controller',
  'storage-version-gc': 'storage-version-garbage-collector',
  tokencleaner: 'token-cleaner',
};

/** The controller's service account in the system namespace, for `--use-service-account-credentials`. */
export function serviceAccountOf(controller: string): string {
  return accountNames[controller] ?? `${controller}-controller`;
}

/** Event sources of release 1.24 that are not named `<controller>-controller`. */
const eventSources: Readonly<Record<string, string>> = {
  disruption: 'controllermanager',
  endpointslice: 'endpoint-slice-controller',
  endpointslicemirroring: 'endpoint-slice-mirroring-controller',
  'ephemeral-volume': 'ephemeral_volume',
  garbagecollector: 'garbage-collector-controller',
  horizontalpodautoscaling: 'horizontal-pod-autoscaler',
  nodeipam: 'cidrAllocator',
  nodelifecycle: 'node-controller',
  'persistentvolume-binder': 'persistentvolume-controller',
  'persistentvolume-expander': 'volume_expand',
  replicationcontroller: 'replication-controller',
  route: 'route_controller',
};

/** The source component of a controller's events. */
export function eventSourceOf(controller: string): string {
  return eventSources[controller] ?? `${controller}-controller`;
}

export interface ControllerSelection {
  readonly selected: readonly string[];
  /** Selected controllers that were named explicitly, not only by `*`. */
  readonly named: ReadonlySet<string>;
}

/**
 * Evaluates `--controllers`: `*` selects all that are on by default, `name` selects and `-name` deselects one; names
 * override `*`. `gated`: the controllers of feature gates.
 */
export function selectControllers(controllers: readonly string[], gated: readonly string[] = []): ControllerSelection {
  const on = new Set(controllers);
  const extra = gated.map((name) => [name, { onByDefault: true }] as const);
  const selected = [...Object.entries(controllerNames), ...extra]
    .filter(([name, { onByDefault }]) => on.has(name) || (!on.has(`-${name}`) && on.has('*') && onByDefault))
    .map(([name]) => name);
  return { selected, named: new Set(selected.filter((name) => on.has(name))) };
}

/** Errors of `--controllers`. */
export function unknownControllers(controllers: readonly string[], gated: readonly string[] = []): string[] {
  return controllers
    .filter((item) => item !== '*')
    .map((item) => (item.startsWith('-') ? item.slice(1) : item))
    .filter((name) => !Object.hasOwn(controllerNames, name) && !gated.includes(name))
    .map((name) => `"${name}" is not in the list of known controllers`);
}

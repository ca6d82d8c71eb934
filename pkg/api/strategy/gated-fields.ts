/**
 * Fields that exist only while their feature gate is on. While it is off they are dropped from what clients write,
 * unless the stored object has them already: switching a feature off breaks nobody's objects.
 */
import type { ApiObjectShape } from '#api/object.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';

/**
 * Name of a gate to the paths of its fields: dotted, `[*]` for all elements of a list. `=Value` at the end of a path: the
 * field is not dropped but gets that value, with which nobody uses it.
 */
export type GatedFields = Readonly<Record<string, readonly string[]>>;

const containerLists = ['containers[*]', 'initContainers[*]', 'ephemeralContainers[*]'];
const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'];

function everyContainer(...fields: string[]): string[] {
  return containerLists.flatMap((list) => fields.map((field) => `${list}.${field}`));
}

/** Below a pod's spec. */
const podSpec: GatedFields = {
  AltOSHostProcessContainers: [
    'securityContext.windowsOptions.hostProcess',
    ...everyContainer('securityContext.windowsOptions.hostProcess'),
  ],
  AnyVolumeDataSource: ['volumes[*].ephemeral.volumeClaimTemplate.spec.dataSourceRef'],
  CSIInlineVolume: ['volumes[*].csi'],
  EphemeralContainers: ['ephemeralContainers'],
  GRPCContainerProbe: everyContainer(...probes.map((probe) => `${probe}.grpc`)),
  IdentifyPodOS: ['os'],
  LocalStorageCapacityIsolation: ['volumes[*].emptyDir.sizeLimit'],
  MinDomainsInPodTopologySpread: ['topologySpreadConstraints[*].minDomains'],
  ProbeTerminationGracePeriod: everyContainer(
    'livenessProbe.terminationGracePeriodSeconds',
    'startupProbe.terminationGracePeriodSeconds',
  ),
  ProcMountType: everyContainer('securityContext.procMount=Default'),
};

function podSpecAt(prefix: string): GatedFields {
  return Object.fromEntries(
    Object.entries(podSpec).map(([gate, paths]) => [gate, paths.map((path) => `${prefix}.${path}`)]),
  );
}

const template = podSpecAt('spec.template.spec');

const byResource: Readonly<Record<string, GatedFields>> = {
  'apps/v1/daemonsets': { ...template, DaemonSetUpdateSurge: ['spec.updateStrategy.rollingUpdate.maxSurge'] },
  'apps/v1/deployments': template,
  'apps/v1/replicasets': template,
  'apps/v1/statefulsets': {
    ...template,
    MaxUnavailableStatefulSet: ['spec.updateStrategy.rollingUpdate.maxUnavailable'],
    StatefulSetAutoDeletePVC: ['spec.persistentVolumeClaimRetentionPolicy'],
    StatefulSetMinReadySeconds: ['spec.minReadySeconds'],
  },
  'autoscaling/v2/horizontalpodautoscalers': { HPAContainerMetrics: ['spec.metrics[*].containerResource'] },
  'batch/v1/cronjobs': { ...podSpecAt('spec.jobTemplate.spec.template.spec'), CronJobTimeZone: ['spec.timeZone'] },
  'batch/v1/jobs': template,
  'core/v1/persistentvolumeclaims': {
    AnyVolumeDataSource: ['spec.dataSourceRef'],
    RecoverVolumeExpansionFailure: ['status.allocatedResources', 'status.resizeStatus'],
  },
  'core/v1/pods': podSpecAt('spec'),
  'core/v1/podtemplates': podSpecAt('template.spec'),
  'core/v1/replicationcontrollers': template,
  'core/v1/services': {
    MixedProtocolLBService: ['status.loadBalancer.ingress[*].ports', 'status.conditions'],
    ServiceInternalTrafficPolicy: ['spec.internalTrafficPolicy'],
  },
  'discovery/v1/endpointslices': {
    EndpointSliceTerminatingCondition: ['endpoints[*].conditions.serving', 'endpoints[*].conditions.terminating'],
    TopologyAwareHints: ['endpoints[*].hints'],
  },
  'networking/v1/networkpolicies': {
    NetworkPolicyEndPort: ['spec.ingress[*].ports[*].endPort', 'spec.egress[*].ports[*].endPort'],
    NetworkPolicyStatus: ['status'],
  },
  'policy/v1beta1/podsecuritypolicies': {
    CSIInlineVolume: ['spec.allowedCSIDrivers'],
    ProcMountType: ['spec.allowedProcMountTypes'],
  },
};

/** The gated fields of a resource; undefined when it has none. */
export function gatedFieldsOf(resource: ResourceDeclaration): GatedFields | undefined {
  const key = `${resource.group}/${resource.version}/${resource.resource}`;
  return Object.hasOwn(byResource, key) ? byResource[key] : undefined;
}

export interface Dropping {
  readonly gate: (name: string) => boolean;
  /** What is stored; absent on create. */
  readonly old?: ApiObjectShape | undefined;
  /** Whether the request writes the status, or everything else. */
  readonly part: 'status' | 'main';
}

/** Removes, in place, the fields whose gate is off and that the stored object does not use. */
export function dropDisabledFields(object: ApiObjectShape, fields: GatedFields, dropping: Dropping): void {
  // Hardly any object has such a field, and one look at all of them tells.
  if (!hasAny(object, disabledFields(fields, dropping.gate))) return;
  for (const gate in fields) {
    if (dropping.gate(gate)) continue;
    const paths = fields[gate] ?? [];
    if (dropping.old !== undefined && paths.some((path) => uses(dropping.old, stepsOf(path), 0))) continue;
    for (const path of paths) {
      const steps = stepsOf(path);
      if ((steps[0] === 'status') === (dropping.part === 'status')) drop(object, steps, 0);
    }
  }
}

/** The paths of all gates that are off as one tree. */
class Branch {
  /** A path ends here; others may go on. */
  isEnd = false;
  readonly steps = new Map<string, Branch>();
}

const disabledByGate = new WeakMap<GatedFields, WeakMap<Dropping['gate'], Branch>>();

function disabledFields(fields: GatedFields, gate: Dropping['gate']): Branch {
  const byGate = disabledByGate.get(fields) ?? new WeakMap<Dropping['gate'], Branch>();
  let root = byGate.get(gate);
  if (root === undefined) {
    root = new Branch();
    for (const [name, paths] of Object.entries(fields)) if (!gate(name)) for (const path of paths) grow(root, path);
    disabledByGate.set(fields, byGate.set(gate, root));
  }
  return root;
}

function grow(root: Branch, path: string): void {
  let branch = root;
  for (const text of stepsOf(path)) {
    const [step] = fieldAndReset(text);
    const next = branch.steps.get(step) ?? new Branch();
    branch.steps.set(step, next);
    branch = next;
  }
  branch.isEnd = true;
}

/** Whether the value has anything at the end of a path of the tree. */
function hasAny(value: unknown, { steps }: Branch): boolean {
  if (!isObject(value)) return false;
  for (const [step, below] of steps) {
    if (step === anyElement) {
      if (Array.isArray(value) && value.some((element) => hasAny(element, below))) return true;
    } else {
      const member = value[step];
      if (member !== undefined && (below.isEnd || hasAny(member, below))) return true;
    }
  }
  return false;
}

const anyElement = '*';

/** Paths come from tables, so there are few; every write of every pod needs them. */
const parsed = new Map<string, readonly string[]>();

function stepsOf(path: string): readonly string[] {
  let steps = parsed.get(path);
  if (steps === undefined) {
    steps = path.replaceAll('[*]', `.${anyElement}`).split('.');
    parsed.set(path, steps);
  }
  return steps;
}

/** A step is the name of a field, and the last one may tell the value that the field gets. */
function fieldAndReset(step: string): readonly [field: string, reset: string | undefined] {
  const equals = step.indexOf('=');
  return equals < 0 ? [step, undefined] : [step.slice(0, equals), step.slice(equals + 1)];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Whether `value` has something at the end of the steps from `at` on. */
function uses(value: unknown, steps: readonly string[], at: number): boolean {
  const text = steps[at];
  if (text === undefined) return value !== undefined;
  if (text === anyElement) return Array.isArray(value) && value.some((element) => uses(element, steps, at + 1));
  const [step, reset] = fieldAndReset(text);
  return isObject(value) && value[step] !== reset && uses(value[step], steps, at + 1);
}

function drop(value: unknown, steps: readonly string[], at: number): void {
  const text = steps[at];
  if (text === undefined || !isObject(value)) return;
  const [step, reset] = fieldAndReset(text);
  if (step === anyElement) {
    if (Array.isArray(value)) for (const element of value) drop(element, steps, at + 1);
  } else if (at < steps.length - 1) drop(value[step], steps, at + 1);
  else if (value[step] === undefined) return;
  else if (reset === undefined) delete value[step];
  else value[step] = reset;
}

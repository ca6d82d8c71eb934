/** Switches every gate that affects the API on and off: exactly the declared fields change. */

import t from 'tap';
import { apiGates } from '#api/api-gates.js';
import { appArmorPrefix } from '#api/core/v1/pod/parts/annotations.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { groupVersions } from '#api/scheme.gen.js';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import { ruleGates } from '#api/strategy/feature-gates.js';
import { anyElement, GatedFields, type GatedPath } from '#api/strategy/gated-fields.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import {
  changeFailures,
  created,
  createFailures,
  type Draft,
  updateFailures,
  withField,
  withGates,
} from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { FieldDeclaration, MessageDeclaration, ResourceDeclaration } from '#apimachinery/schema/schema.js';

const types = new Map<string, MessageDeclaration>();
const resources: ResourceDeclaration[] = [];
for (const { group, version, kinds } of groupVersions) {
  const prefix = version === '' ? group : `${group}.${version}`;
  for (const kind of kinds) {
    for (const [name, message] of Object.entries(kind.types)) types.set(`${prefix}.${name}`, message);
    for (const resource of kind.resources ?? []) resources.push({ group, version, ...resource } as ResourceDeclaration);
  }
}

const scheme = schemeFor(orchDialect);

function gatedFieldsOf(resource: ResourceDeclaration): GatedFields {
  const statusApart = resource.subresources?.some(({ name }) => name === 'status') === true;
  return new GatedFields(scheme.resourceOf(resource).type, statusApart);
}

const everyContainer = ['containers[*]', 'initContainers[*]', 'ephemeralContainers[*]'];

/** Fields of pods that release 1.24 drops, by gate. */
const ofPods: Readonly<Record<string, readonly string[]>> = {
  AltOSHostProcessContainers: [
    'securityContext.windowsOptions.hostProcess',
    ...everyContainer.map((list) => `${list}.securityContext.windowsOptions.hostProcess`),
  ],
  AnyVolumeDataSource: ['volumes[*].ephemeral.volumeClaimTemplate.spec.dataSourceRef'],
  CSIInlineVolume: ['volumes[*].csi'],
  EphemeralContainers: ['ephemeralContainers'],
  GRPCContainerProbe: everyContainer.flatMap((list) =>
    ['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe) => `${list}.${probe}.grpc`),
  ),
  IdentifyPodOS: ['os'],
  LocalStorageCapacityIsolation: ['volumes[*].emptyDir.sizeLimit'],
  MinDomainsInPodTopologySpread: ['topologySpreadConstraints[*].minDomains'],
  ProbeTerminationGracePeriod: everyContainer.flatMap((list) =>
    ['livenessProbe', 'startupProbe'].map((probe) => `${list}.${probe}.terminationGracePeriodSeconds`),
  ),
  ProcMountType: everyContainer.map((list) => `${list}.securityContext.procMount=Default`),
};

function podsAt(prefix: string): string[] {
  return Object.entries(ofPods).flatMap(([gate, paths]) => paths.map((path) => `${gate} ${prefix}.${path}`));
}

const template = podsAt('spec.template.spec');

/** Fields of stored versions that release 1.24 drops. */
const dropped: Readonly<Record<string, readonly string[]>> = {
  'apps/daemonsets': [...template, 'DaemonSetUpdateSurge spec.updateStrategy.rollingUpdate.maxSurge'],
  'apps/deployments': template,
  'apps/replicasets': template,
  'apps/statefulsets': [
    ...template,
    'MaxUnavailableStatefulSet spec.updateStrategy.rollingUpdate.maxUnavailable',
    'StatefulSetAutoDeletePVC spec.persistentVolumeClaimRetentionPolicy',
    'StatefulSetAutoDeletePVC spec.persistentVolumeClaimRetentionPolicy.whenDeleted',
    'StatefulSetAutoDeletePVC spec.persistentVolumeClaimRetentionPolicy.whenScaled',
    'StatefulSetMinReadySeconds spec.minReadySeconds',
  ],
  'autoscaling/horizontalpodautoscalers': ['HPAContainerMetrics spec.metrics[*].containerResource'],
  'batch/cronjobs': [...podsAt('spec.jobTemplate.spec.template.spec'), 'CronJobTimeZone spec.timeZone'],
  'batch/jobs': template,
  'core/persistentvolumeclaims': [
    'AnyVolumeDataSource spec.dataSourceRef',
    'RecoverVolumeExpansionFailure status.allocatedResources',
    'RecoverVolumeExpansionFailure status.resizeStatus',
  ],
  'core/pods': podsAt('spec'),
  'core/podtemplates': podsAt('template.spec'),
  'core/replicationcontrollers': template,
  'core/services': [
    'MixedProtocolLBService status.loadBalancer.ingress[*].ports',
    'MixedProtocolLBService status.conditions',
    'ServiceInternalTrafficPolicy spec.internalTrafficPolicy',
  ],
  'discovery/endpointslices': [
    'EndpointSliceTerminatingCondition endpoints[*].conditions.serving',
    'EndpointSliceTerminatingCondition endpoints[*].conditions.terminating',
    'TopologyAwareHints endpoints[*].hints',
  ],
  'networking/networkpolicies': [
    'NetworkPolicyEndPort spec.ingress[*].ports[*].endPort',
    'NetworkPolicyEndPort spec.egress[*].ports[*].endPort',
    'NetworkPolicyStatus status',
  ],
  'policy/podsecuritypolicies': ['CSIInlineVolume spec.allowedCSIDrivers', 'ProcMountType spec.allowedProcMountTypes'],
};

function textOf({ gate, steps, whileOff }: GatedPath): string {
  const path = steps.join('.').replaceAll(`.${anyElement}`, '[*]');
  return `${gate} ${path}${whileOff === undefined ? '' : `=${whileOff}`}`;
}

t.test('exactly the fields that release 1.24 gates are gated', async (t) => {
  for (const resource of resources.filter(({ storedAs }) => storedAs === undefined)) {
    const name = `${resource.group}/${resource.resource}`;
    const actual = [...gatedFieldsOf(resource).byGate.values()].flat().map(textOf);
    t.strictSame(actual.sort(), [...(dropped[name] ?? [])].sort(), name);
  }
});

/** An object of the type with every field set. */
function full(type: string, scope: string, within: readonly string[] = []): unknown {
  const name = type.includes('.') ? type : `${scope}.${type}`;
  const message = types.get(name);
  if (message === undefined) return type === 'bool' ? true : type === 'string' ? 'a' : 7;
  if (/Time$|Quantity$|IntOrString$|Duration$|RawExtension$|FieldsV1$|\.JSON/.test(name) || within.includes(name))
    return 'a';
  const owner = name.slice(0, name.lastIndexOf('.'));
  const value = (field: FieldDeclaration): unknown => {
    const one = full(field.type, owner, [...within, name]);
    return field.repeated ? [one] : field.map === undefined ? one : { key: one };
  };
  return Object.fromEntries(
    Object.entries(message.fields).flatMap(([key, field]) =>
      field.inline ? Object.entries(value(field) as object) : key.startsWith('~') ? [] : [[key, value(field)]],
    ),
  );
}

/** A copy of the object as it is while the gate of these fields is off. */
function without(object: object, paths: readonly GatedPath[]): object {
  const copy = structuredClone(object);
  for (const { steps, whileOff } of paths) {
    let places: object[] = [copy];
    for (const step of steps.slice(0, -1)) {
      places = places.flatMap((place) =>
        step === anyElement ? (place as object[]) : (Reflect.get(place, step) ?? []),
      );
    }
    for (const place of places) {
      if (whileOff === undefined) Reflect.deleteProperty(place, steps.at(-1) ?? '');
      else Reflect.set(place, steps.at(-1) ?? '', whileOff);
    }
  }
  return copy;
}

t.test('a disabled gate drops exactly its fields from new objects and keeps stored ones', async (t) => {
  let rows = 0;
  for (const resource of resources) {
    const strategy = strategyFor(resource);
    const fields = gatedFieldsOf(resource);
    const object = full(resource.kind, `${resource.group}.${resource.version}`) as ApiObjectShape;
    for (const [gate, paths] of fields.byGate) {
      const on = (name: string): boolean => name !== `${gate}, off`;
      const off = (name: string): boolean => name !== gate;
      const run = (gate: (name: string) => boolean, part: 'main' | 'status', old?: ApiObjectShape): object => {
        const copy = copyJson(object);
        fields.drop(copy, { gate, part, old });
        return copy;
      };
      for (const part of ['main', 'status'] as const) {
        const apart = resource.subresources?.some(({ name }) => name === 'status') === true;
        const own = paths.filter(({ steps }) => (apart && steps[0] === 'status') === (part === 'status'));
        const name = `${resource.group}/${resource.version} ${resource.resource}, ${part}, ${gate}`;
        t.strictSame(run(on, part), object, `${name} on`);
        t.strictSame(run(off, part), without(object, own), `${name} off`);
        t.strictSame(run(off, part, object), object, `${name} off, stored`);
        rows += own.length;
      }
      if (resource.storedAs !== undefined || (ruleGates as readonly string[]).includes(gate)) continue;
      // The same through the strategy, with other gates on.
      const prepared = (gate: (name: string) => boolean): object => {
        const copy = copyJson(object);
        strategy.prepareForCreate?.(copy, { ...withGates({}), gate });
        return copy;
      };
      t.strictSame(prepared(off), without(prepared(on), paths), `${resource.resource} created, ${gate}`);
    }
  }
  t.ok(rows > 100, `${rows} rows`);
});

const metadata = { name: 'a', namespace: 'ns', uid: 'u' };
const pod: Draft = { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } };
const claim: Draft = {
  metadata,
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
};
const set: Draft = {
  metadata,
  spec: {
    selector: { matchLabels: { a: 'b' } },
    serviceName: 's',
    template: { metadata: { labels: { a: 'b' } }, spec: pod['spec'] },
  },
};
const job: Draft = {
  metadata,
  spec: { suspend: true, template: { spec: { ...(pod['spec'] as object), restartPolicy: 'Never' } } },
};
const scaler: Draft = { metadata, spec: { scaleTargetRef: { kind: 'D', name: 'd' }, maxReplicas: 3 } };
const service: Draft = { metadata, spec: { ports: [{ port: 80, name: 'a' }] } };

function strategy(name: string): ReturnType<typeof strategyFor> {
  const resource = resources.find(({ resource, storedAs }) => resource === name && storedAs === undefined);
  if (resource === undefined) throw new RangeError(name);
  return strategyFor(resource);
}

const fails = (name: string, draft: Draft) => (context: StrategyContext) =>
  createFailures(strategy(name), draft, context);
const makes = (name: string, draft: Draft, path: string) => (context: StrategyContext) =>
  path.split('.').reduce<unknown>((at, step) => Reflect.get(Object(at), step), created(strategy(name), draft, context));

interface RuleCase {
  readonly act: (context: StrategyContext) => unknown;
  readonly on: unknown;
  readonly off: unknown;
}

const cases: Readonly<Record<(typeof ruleGates)[number], RuleCase>> = {
  AnyVolumeDataSource: {
    act: makes(
      'persistentvolumeclaims',
      withField(claim, 'spec.dataSource', { kind: 'PersistentVolumeClaim', name: 'b' }),
      'spec.dataSourceRef',
    ),
    on: { kind: 'PersistentVolumeClaim', name: 'b' },
    off: undefined,
  },
  AppArmor: {
    act: makes(
      'pods',
      withField(pod, 'metadata.annotations', { [`${appArmorPrefix(orchDialect)}c`]: 'unconfined' }),
      'metadata.annotations',
    ),
    on: { [`${appArmorPrefix(orchDialect)}c`]: 'unconfined' },
    off: {},
  },
  CSIMigration: {
    act: fails('volumeattachments', { metadata: { name: 'a' }, spec: { attacher: 'a', nodeName: 'n', source: {} } }),
    on: ['spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName'],
    off: ['spec.source: Required value: must specify persistentVolumeName when CSIMigration feature is disabled'],
  },
  CustomResourceValidationExpressions: {
    act: makes(
      'customresourcedefinitions',
      {
        metadata,
        spec: {
          names: {},
          versions: [{ name: 'v1', schema: { openAPIV3Schema: { 'x-orch-validations': [{ rule: 'self.a' }] } } }],
        },
      },
      'spec.versions.0.schema.openAPIV3Schema',
    ),
    on: { 'x-orch-validations': [{ rule: 'self.a' }] },
    off: {},
  },
  DownwardAPIHugePages: {
    act: fails(
      'pods',
      withField(pod, 'spec.containers.0.env', [
        { name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.hugepages-2Mi' } } },
      ]),
    ),
    on: [],
    off: [
      'spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.hugepages-2Mi": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
    ],
  },
  ExpandedDNSConfig: {
    act: fails('pods', withField(pod, 'spec.dnsConfig', { searches: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] })),
    on: [],
    off: [
      'spec.dnsConfig.searches: Invalid value: []string{"a", "b", "c", "d", "e", "f", "g"}: must not have more than 6 search paths',
    ],
  },
  HPAContainerMetrics: {
    act: fails(
      'horizontalpodautoscalers',
      withField(scaler, 'spec.metrics', [
        {
          type: 'ContainerResource',
          containerResource: { name: 'cpu', container: 'c', target: { type: 'Utilization', averageUtilization: 5 } },
        },
      ]),
    ),
    on: [],
    off: [
      'spec.metrics[0].containerResource: Required value: must populate information for the given metric source (only allowed when HPAContainerMetrics feature is enabled)',
    ],
  },
  HPAScaleToZero: {
    act: fails(
      'horizontalpodautoscalers',
      withField(withField(scaler, 'spec.minReplicas', 0), 'spec.metrics', [
        { type: 'External', external: { metric: { name: 'm' }, target: { type: 'Value', value: '1' } } },
      ]),
    ),
    on: [],
    off: ['spec.minReplicas: Invalid value: 0: must be greater than or equal to 1'],
  },
  JobMutableNodeSchedulingDirectives: {
    act: (context) =>
      updateFailures(
        strategy('jobs'),
        job,
        withField(created(strategy('jobs'), job, context) as unknown as Draft, 'spec.template.spec.nodeSelector', {
          a: 'b',
        }),
        context,
      ).length,
    on: 0,
    off: 1,
  },
  JobTrackingWithFinalizers: {
    act: makes('jobs', job, 'metadata.annotations'),
    on: { 'batch.orch.io/job-tracking': '' },
    off: undefined,
  },
  MaxUnavailableStatefulSet: {
    act: makes('statefulsets', set, 'spec.updateStrategy.rollingUpdate.maxUnavailable'),
    on: 1,
    off: undefined,
  },
  MixedProtocolLBService: {
    act: fails(
      'services',
      withField(withField(service, 'spec.type', 'LoadBalancer'), 'spec.ports', [
        { port: 80, name: 'a' },
        { port: 80, name: 'b', protocol: 'UDP' },
      ]),
    ),
    on: [],
    off: [
      'spec.ports: Invalid value: []core.ServicePort{core.ServicePort{Name:"a", Protocol:"TCP", AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:80, StrVal:""}, NodePort:0}, core.ServicePort{Name:"b", Protocol:"UDP", AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:80, StrVal:""}, NodePort:0}}: cannot create an external load balancer with mix protocols',
    ],
  },
  PodDeletionCost: {
    act: fails('pods', withField(pod, 'metadata.annotations', { [orchDialect.annotations.podDeletionCost]: 'x' })),
    on: ['metadata.annotations[controller.orch.io/pod-deletion-cost]: Invalid value: "x": must be a 32bit integer'],
    off: [],
  },
  ReadWriteOncePod: {
    act: fails('persistentvolumeclaims', withField(claim, 'spec.accessModes', ['ReadWriteOncePod'])),
    on: [],
    off: [
      'spec.accessModes: Unsupported value: "ReadWriteOncePod": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
    ],
  },
  RecoverVolumeExpansionFailure: {
    act: (context) => {
      const status = { phase: 'Bound', capacity: { storage: '1Gi' } };
      const stored = { ...created(strategy('persistentvolumeclaims'), claim, context), status };
      const smaller = withField(stored, 'spec.resources.requests.storage', '1500Mi');
      return changeFailures(strategy('persistentvolumeclaims'), stored, smaller, context);
    },
    on: [],
    off: ['spec.resources.requests.storage: Forbidden: field can not be less than previous value'],
  },
  ServiceInternalTrafficPolicy: {
    act: makes('services', service, 'spec.internalTrafficPolicy'),
    on: 'Cluster',
    off: undefined,
  },
  StatefulSetAutoDeletePVC: {
    act: makes('statefulsets', set, 'spec.persistentVolumeClaimRetentionPolicy'),
    on: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    off: undefined,
  },
};

t.test('rules with a gate on and off', async (t) => {
  for (const [gate, { act, on, off }] of Object.entries(cases)) {
    t.strictSame(act(withGates({ [gate]: true })), on, `${gate} on`);
    t.strictSame(act(withGates({ [gate]: false })), off, `${gate} off`);
    t.notSame(on, off, `${gate} acts`);
  }
});

t.test('every gate of the API is tested', async (t) => {
  const ofFields = resources.flatMap((resource) => [...gatedFieldsOf(resource).byGate.keys()]);
  const ofResources = resources.flatMap(({ featureGate }) => featureGate ?? []);
  t.strictSame(apiGates(), [...new Set([...ofFields, ...ofResources, ...Object.keys(cases)])].sort());
  for (const resource of resources.filter(({ featureGate }) => featureGate !== undefined)) {
    t.equal(resource.featureGate, 'StorageVersionAPI', `${resource.resource} is served while its gate is on`);
  }
});

/** Which fields of which kinds have names, labels, images and the like (kustomize 4.5.4's own tables). */
import { kustomizeNames } from '#apimachinery/dialect.js';
import type { Gvk } from '#cmd/orchctl/kustomize/identity.js';

/** A field of the kinds that match; groups are keys of groups. */
export interface FieldSpec extends Partial<Gvk> {
  readonly path: string;
  /** Whether the field is created where it is missing. */
  readonly create?: boolean;
}

/** Where objects of a kind are named. */
export interface NameReference extends Partial<Gvk> {
  readonly fieldSpecs: readonly FieldSpec[];
}

export interface SpecTable {
  readonly commonLabels: readonly FieldSpec[];
  readonly commonAnnotations: readonly FieldSpec[];
  readonly images: readonly FieldSpec[];
  readonly namespace: readonly FieldSpec[];
  readonly namePrefix: readonly FieldSpec[];
  readonly nameSuffix: readonly FieldSpec[];
  readonly replicas: readonly FieldSpec[];
  readonly varReference: readonly FieldSpec[];
  readonly nameReference: readonly NameReference[];
}

/** Paths for each of several kinds. */
function each(kinds: string, paths: readonly string[], more: Partial<FieldSpec> = {}): FieldSpec[] {
  return kinds
    .split(' ')
    .flatMap((kind) => paths.map((path) => ({ path, ...(kind === '*' ? {} : { kind }), ...more })));
}

const replicated = 'Deployment ReplicaSet DaemonSet StatefulSet Job';
const podPath: Readonly<Record<string, string>> = {
  Pod: 'spec/',
  PodTemplate: 'template/spec/',
  CronJob: 'spec/jobTemplate/spec/template/spec/',
};

/** Fields of the pods in objects of these kinds. */
function ofPods(
  kinds: string,
  fields: readonly string[],
  versions: Readonly<Record<string, string>> = {},
): FieldSpec[] {
  return kinds.split(' ').flatMap((kind) =>
    fields.map((field) => ({
      path: `${podPath[kind] ?? 'spec/template/spec/'}${field}`,
      kind,
      ...(versions[kind] === undefined ? {} : { version: versions[kind] }),
    })),
  );
}

const affinities = ['podAffinity', 'podAntiAffinity'].flatMap((side) => [
  `affinity/${side}/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels`,
  `affinity/${side}/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels`,
]);
const placements = [...affinities, 'topologySpreadConstraints/labelSelector/matchLabels'];
const create = { create: true };

const commonLabels: readonly FieldSpec[] = [
  { path: 'metadata/labels', ...create },
  ...each('Service ReplicationController', ['spec/selector'], { version: 'v1', ...create }),
  ...each('ReplicationController', ['spec/template/metadata/labels'], { version: 'v1', ...create }),
  ...each('Deployment ReplicaSet DaemonSet', ['spec/selector/matchLabels', 'spec/template/metadata/labels'], create),
  ...each('StatefulSet', ['spec/selector/matchLabels', 'spec/template/metadata/labels'], { group: 'apps', ...create }),
  ...each(
    'Deployment StatefulSet',
    placements.map((path) => `spec/template/spec/${path}`),
    { group: 'apps' },
  ),
  ...each('StatefulSet', ['spec/volumeClaimTemplates[]/metadata/labels'], { group: 'apps', ...create }),
  ...each('Job', ['spec/selector/matchLabels'], { group: 'batch' }),
  ...each('Job', ['spec/template/metadata/labels'], { group: 'batch', ...create }),
  ...each('CronJob', ['spec/jobTemplate/spec/selector/matchLabels'], { group: 'batch' }),
  ...each('CronJob', ['spec/jobTemplate/metadata/labels', 'spec/jobTemplate/spec/template/metadata/labels'], {
    group: 'batch',
    ...create,
  }),
  ...each('PodDisruptionBudget', ['spec/selector/matchLabels'], { group: 'policy' }),
  ...each(
    'NetworkPolicy',
    [
      'spec/podSelector/matchLabels',
      'spec/ingress/from/podSelector/matchLabels',
      'spec/egress/to/podSelector/matchLabels',
    ],
    { group: 'networking' },
  ),
];

const commonAnnotations: readonly FieldSpec[] = [
  { path: 'metadata/annotations', ...create },
  ...each('ReplicationController', ['spec/template/metadata/annotations'], { version: 'v1', ...create }),
  ...each('Deployment ReplicaSet DaemonSet StatefulSet', ['spec/template/metadata/annotations'], create),
  ...each('Job', ['spec/template/metadata/annotations'], { group: 'batch', ...create }),
  ...each('CronJob', ['spec/jobTemplate/metadata/annotations', 'spec/jobTemplate/spec/template/metadata/annotations'], {
    group: 'batch',
    ...create,
  }),
];

const images = ['spec/', 'spec/template/spec/'].flatMap((path) =>
  each('*', [`${path}containers[]/image`, `${path}initContainers[]/image`], create),
);

const namespace: readonly FieldSpec[] = [
  { path: 'metadata/name', kind: 'Namespace', ...create },
  { path: 'spec/service/namespace', group: 'apiregistration', kind: 'APIService', ...create },
  {
    path: 'spec/conversion/webhook/clientConfig/service/namespace',
    group: 'apiextensions',
    kind: 'CustomResourceDefinition',
  },
];

const containerTexts = ['containers', 'initContainers'].flatMap((list) =>
  ['args', 'command', 'env/value', 'volumeMounts/mountPath'].map((field) => `${list}/${field}`),
);

const varReference: readonly FieldSpec[] = [
  ...ofPods(`CronJob Pod ${replicated}`, containerTexts),
  ...ofPods('Pod Deployment ReplicaSet DaemonSet Job', ['volumes/nfs/server']),
  { path: 'spec/jobTemplate/spec/template/volumes/nfs/server', kind: 'CronJob' },
  { path: 'spec/template/metadata/annotations', kind: 'Deployment' },
  ...each('Ingress', ['spec/rules/host', 'spec/tls/hosts', 'spec/tls/secretName']),
  ...each('Service', ['spec/ports/port', 'spec/ports/targetPort']),
  { path: 'spec/volumeClaimTemplates/spec/nfs/server', kind: 'StatefulSet' },
  { path: 'spec/nfs/server', kind: 'PersistentVolume' },
  { path: 'metadata/labels' },
  { path: 'metadata/annotations' },
];

const variables = (ref: string, from: string) => [
  `containers/env/valueFrom/${ref}/name`,
  `initContainers/env/valueFrom/${ref}/name`,
  `containers/envFrom/${from}/name`,
  `initContainers/envFrom/${from}/name`,
];
const configMaps = [
  'volumes/configMap/name',
  ...variables('configMapKeyRef', 'configMapRef'),
  'volumes/projected/sources/configMap/name',
];
const secrets = [
  'volumes/secret/secretName',
  ...variables('secretKeyRef', 'secretRef'),
  'imagePullSecrets/name',
  'volumes/projected/sources/secret/name',
];
const annotationPath = (name: string) => `metadata/annotations/${name.replaceAll('/', '\\/')}`;
const ofRunning = 'Pod StatefulSet Deployment ReplicationController CronJob Job DaemonSet';

const nameReference: readonly NameReference[] = [
  ...['Deployment', 'ReplicationController', 'ReplicaSet', 'StatefulSet'].map((kind) => ({
    kind,
    fieldSpecs: [{ path: 'spec/scaleTargetRef/name', kind: 'HorizontalPodAutoscaler' }],
  })),
  {
    kind: 'ConfigMap',
    version: 'v1',
    fieldSpecs: [
      ...ofPods(`Pod PodTemplate ${replicated} CronJob`, configMaps, { Pod: 'v1' }),
      { path: 'spec/configSource/configMap', kind: 'Node' },
      ...each('Role ClusterRole', ['rules/resourceNames']),
      ...each('Ingress', kustomizeNames.ingressConfigMaps.map(annotationPath)),
    ],
  },
  {
    kind: 'Secret',
    version: 'v1',
    fieldSpecs: [
      ...ofPods(`Pod PodTemplate ${replicated} CronJob`, secrets, { Pod: 'v1' }),
      ...each('Ingress', ['spec/tls/secretName', ...kustomizeNames.ingressSecrets.map(annotationPath)]),
      { path: 'imagePullSecrets/name', kind: 'ServiceAccount' },
      ...each(
        'StorageClass',
        ['secretName', 'adminSecretName', 'userSecretName', 'secretRef'].map((name) => `parameters/${name}`),
      ),
      ...each('Role ClusterRole', ['rules/resourceNames']),
      {
        path: 'spec/template/spec/containers/env/valueFrom/secretKeyRef/name',
        group: 'serving.knative.dev',
        version: 'v1',
        kind: 'Service',
      },
      { path: 'spec/azureFile/secretName', kind: 'PersistentVolume' },
    ],
  },
  {
    kind: 'Service',
    version: 'v1',
    fieldSpecs: [
      { path: 'spec/serviceName', kind: 'StatefulSet', group: 'apps' },
      ...each('Ingress', [
        'spec/rules/http/paths/backend/serviceName',
        'spec/backend/serviceName',
        'spec/rules/http/paths/backend/service/name',
        'spec/defaultBackend/service/name',
      ]),
      { path: 'spec/service/name', kind: 'APIService', group: 'apiregistration' },
      ...each('ValidatingWebhookConfiguration MutatingWebhookConfiguration', ['webhooks/clientConfig/service'], {
        group: 'admissionregistration',
      }),
    ],
  },
  { kind: 'Role', group: 'rbac', fieldSpecs: each('RoleBinding', ['roleRef/name'], { group: 'rbac' }) },
  {
    kind: 'ClusterRole',
    group: 'rbac',
    fieldSpecs: each('RoleBinding ClusterRoleBinding', ['roleRef/name'], { group: 'rbac' }),
  },
  {
    kind: 'ServiceAccount',
    version: 'v1',
    fieldSpecs: [
      ...each('RoleBinding ClusterRoleBinding', ['subjects'], { group: 'rbac' }),
      ...ofPods(ofRunning, ['serviceAccountName']),
    ],
  },
  {
    kind: 'PersistentVolumeClaim',
    version: 'v1',
    fieldSpecs: ofPods(ofRunning, ['volumes/persistentVolumeClaim/claimName']),
  },
  {
    kind: 'PersistentVolume',
    version: 'v1',
    fieldSpecs: [
      { path: 'spec/volumeName', kind: 'PersistentVolumeClaim' },
      { path: 'rules/resourceNames', kind: 'ClusterRole' },
    ],
  },
  {
    kind: 'StorageClass',
    version: 'v1',
    group: 'storage',
    fieldSpecs: [
      ...each('PersistentVolume PersistentVolumeClaim', ['spec/storageClassName']),
      { path: 'spec/volumeClaimTemplates/spec/storageClassName', kind: 'StatefulSet' },
    ],
  },
  { kind: 'PriorityClass', version: 'v1', group: 'scheduling', fieldSpecs: ofPods(ofRunning, ['priorityClassName']) },
  { kind: 'IngressClass', version: 'v1', group: 'networking', fieldSpecs: each('Ingress', ['spec/ingressClassName']) },
];

/** The table without the additions of `configurations`. */
export const ownSpecs: SpecTable = {
  commonLabels,
  commonAnnotations,
  images,
  namespace,
  namePrefix: [{ path: 'metadata/name' }],
  nameSuffix: [{ path: 'metadata/name' }],
  replicas: each('Deployment ReplicationController ReplicaSet StatefulSet', ['spec/replicas'], create),
  varReference,
  nameReference,
};

/** The table with that of a file of `configurations`. */
export function withSpecs(table: SpecTable, added: Partial<SpecTable>): SpecTable {
  return Object.fromEntries(
    Object.entries(table).map(([name, specs]) => [name, [...specs, ...(added[name as keyof SpecTable] ?? [])]]),
  ) as unknown as SpecTable;
}

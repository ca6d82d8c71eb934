/** What each value of the chart changes in the objects that it creates. */

/** Values as in a values file. */
export type Values = Readonly<Record<string, unknown>>;

export interface Effect {
  /** The value that a test gives. */
  readonly value: unknown;
  /** KIND/NAME PATH of the field that shows it; NAME without the prefix of the release. */
  readonly at: string;
  /** What the field shows then; for a list: one of its elements. Default: the value. */
  readonly shows?: unknown;
}

export interface Scene {
  readonly name: string;
  /** What turns the objects on that the effects are about. */
  readonly values: Values;
  /** Whether a release is upgraded. */
  readonly upgrade?: boolean;
  /** By the path of the value. */
  readonly effects: Readonly<Record<string, Effect>>;
}

const digest = `sha256:${'ab'.repeat(32)}`;
const labels = { colour: 'blue' };
const port = (port: number) => ({ from: [{ podSelector: { matchLabels: labels } }], ports: [{ port }] });

const preferred = (part: string) => ({
  preferredDuringSchedulingIgnoredDuringExecution: [
    { weight: 1, preference: { matchExpressions: [{ key: part, operator: 'Exists' }] } },
  ],
});

interface Workload {
  readonly part: string;
  /** KIND/NAME. */
  readonly object: string;
  /** Path of the pods' template. */
  readonly template?: string;
  readonly program: string;
  /** What an option looks like. */
  readonly option?: string;
  readonly without?: readonly string[];
}

/** The effects of the values that each part has. */
function partEffects({
  part,
  object,
  template = 'spec.template',
  program,
  option,
  without = [],
}: Workload): Record<string, Effect> {
  const pod = (path: string) => `${object} ${template}.${path}`;
  const container = (path: string) => pod(`spec.containers.0.${path}`);
  const common: Record<string, Effect> = {
    'image.registry': { value: 'r.example', at: container('image'), shows: `r.example/mirror/${part}@${digest}` },
    'image.repository': {
      value: `mirror/${part}`,
      at: container('image'),
      shows: `r.example/mirror/${part}@${digest}`,
    },
    'image.digest': { value: digest, at: container('image'), shows: `r.example/mirror/${part}@${digest}` },
    'image.pullPolicy': { value: 'Always', at: container('imagePullPolicy') },
    'image.pullSecrets': { value: [part], at: pod('spec.imagePullSecrets'), shows: { name: part } },
    labels: { value: { own: 'a' }, at: `${object} metadata.labels` },
    annotations: { value: { own: 'b' }, at: `${object} metadata.annotations` },
    podLabels: { value: { pods: 'c' }, at: pod('metadata.labels') },
    podAnnotations: { value: { pods: 'd' }, at: pod('metadata.annotations') },
    nodeSelector: { value: { disk: part }, at: pod('spec.nodeSelector') },
    tolerations: {
      value: [{ key: part, operator: 'Exists' }],
      at: pod('spec.tolerations'),
      shows: { key: part, operator: 'Exists' },
    },
    affinity: { value: { nodeAffinity: preferred(part) }, at: pod('spec.affinity') },
    topologySpreadConstraints: {
      value: [{ maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
      at: pod('spec.topologySpreadConstraints'),
      shows: { maxSkew: 2, topologyKey: 'zone', labelSelector: { matchLabels: { 'app.kubernetes.io/instance': 'x' } } },
    },
    priorityClassName: { value: 'high', at: pod('spec.priorityClassName') },
    podSpec: {
      value: { hostAliases: [{ ip: '192.0.2.5', hostnames: [`${part.toLowerCase()}.example`] }] },
      at: pod('spec.hostAliases'),
      shows: { ip: '192.0.2.5' },
    },
    startupProbe: { value: { failureThreshold: 77 }, at: container('startupProbe') },
    readinessProbe: { value: { successThreshold: 3 }, at: container('readinessProbe') },
    livenessProbe: { value: { failureThreshold: 66 }, at: container('livenessProbe') },
    podSecurityContext: { value: { fsGroup: 7 }, at: pod('spec.securityContext') },
    securityContext: { value: { readOnlyRootFilesystem: false }, at: container('securityContext') },
    resources: { value: { limits: { cpu: '3' } }, at: container('resources') },
    extraEnv: { value: [{ name: 'A', value: 'b' }], at: container('env'), shows: { name: 'A', value: 'b' } },
    extraEnvFrom: {
      value: [{ secretRef: { name: 'a' } }],
      at: container('envFrom'),
      shows: { secretRef: { name: 'a' } },
    },
    extraVolumes: {
      value: [{ name: 'files', configMap: { name: 'a' } }],
      at: pod('spec.volumes'),
      shows: { name: 'files', configMap: { name: 'a' } },
    },
    extraVolumeMounts: {
      value: [{ name: 'files', mountPath: '/files' }],
      at: container('volumeMounts'),
      shows: { name: 'files', mountPath: '/files' },
    },
    initContainers: {
      value: [{ name: 'first', image: 'a' }],
      at: pod('spec.initContainers'),
      shows: { name: 'first', image: 'a' },
    },
    sidecars: {
      value: [{ name: 'beside', image: 'b' }],
      at: pod('spec.containers'),
      shows: { name: 'beside', image: 'b' },
    },
    terminationGracePeriodSeconds: { value: 99, at: pod('spec.terminationGracePeriodSeconds') },
    ...(option === undefined
      ? {}
      : {
          extraArgs: { value: { own: ['a', 1_610_612_736] }, at: container('args'), shows: `${option}own=1610612736` },
        }),
  };
  const own = Object.entries(common).filter(([name]) => !without.includes(name));
  return {
    ...Object.fromEntries(own.map(([name, effect]) => [`${part}.${name}`, effect])),
    [`${part}.image.tag`]: { value: '9', at: container('image'), shows: `docker.io/orch/${program}:9` },
  };
}

const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'];

const workloads: readonly Workload[] = [
  { part: 'apiServer', object: 'Deployment/apiserver', program: 'orch-apiserver', option: '--' },
  {
    part: 'controllerManager',
    object: 'Deployment/controller-manager',
    program: 'orch-controller-manager',
    option: '--',
    without: ['readinessProbe'],
  },
  {
    ...{ part: 'scheduler', object: 'Deployment/scheduler', program: 'orch-scheduler', option: '--' },
    without: ['readinessProbe'],
  },
  { part: 'etcd', object: 'StatefulSet/etcd', program: 'etcd' },
  {
    ...{ part: 'nodeAgent', object: 'DaemonSet/node-agent', program: 'orch-node', option: '--nodeagent-arg=' },
    without: ['topologySpreadConstraints', 'startupProbe', 'livenessProbe'],
  },
  { part: 'ingress', object: 'Deployment/ingress', program: 'orch-ingress', option: '--' },
  {
    ...{ part: 'serviceProxy', object: 'DaemonSet/service-proxy', program: 'orch-proxy', option: '--' },
    without: ['topologySpreadConstraints', ...probes],
  },
  {
    ...{ part: 'jobs', object: 'CronJob/certificates', template: 'spec.jobTemplate.spec.template', program: 'orch' },
    without: ['initContainers', 'sidecars', 'terminationGracePeriodSeconds', ...probes],
  },
];

const ofParts = Object.assign({}, ...workloads.map(partEffects)) as Record<string, Effect>;
/** A tag does not show beside a digest. */
const isTag = (name: string) => name.endsWith('.image.tag');
const chosen = (isChosen: (name: string) => boolean, of: Record<string, Effect> = ofParts) =>
  Object.fromEntries(Object.entries(of).filter(([name]) => isChosen(name)));

function serviceEffects(part: string, object: string): Record<string, Effect> {
  const spec = (path: string) => `${object} spec.${path}`;
  const effects: Record<string, Effect> = {
    type: { value: part === 'apiServer' ? 'LoadBalancer' : 'NodePort', at: spec('type') },
    labels: { value: { own: 's' }, at: `${object} metadata.labels` },
    annotations: { value: { own: 't' }, at: `${object} metadata.annotations` },
    clusterIP: { value: '172.20.0.9', at: spec('clusterIP') },
    externalIPs: { value: ['192.0.2.9'], at: spec('externalIPs'), shows: '192.0.2.9' },
    externalTrafficPolicy: { value: 'Local', at: spec('externalTrafficPolicy') },
  };
  return Object.fromEntries(Object.entries(effects).map(([name, effect]) => [`${part}.service.${name}`, effect]));
}

function balancerEffects(part: string, object: string): Record<string, Effect> {
  return {
    [`${part}.service.loadBalancerIP`]: { value: '192.0.2.8', at: `${object} spec.loadBalancerIP` },
    [`${part}.service.loadBalancerClass`]: { value: 'example.com/fast', at: `${object} spec.loadBalancerClass` },
    [`${part}.service.loadBalancerSourceRanges`]: {
      ...{ value: ['192.0.2.0/24'], at: `${object} spec.loadBalancerSourceRanges`, shows: '192.0.2.0/24' },
    },
  };
}

const apiArgs = 'Deployment/apiserver spec.template.spec.containers.0.args';
const jobArgs = 'CronJob/certificates spec.jobTemplate.spec.template.spec.containers.0.args';
const publishArgs = 'Job/publish-1 spec.template.spec.containers.0.args';
const nodeAgentPod = 'DaemonSet/node-agent spec.template.spec';

/** Everything that may be turned on. */
const everything: Values = {
  nodeAgent: { enabled: true },
  ingress: { enabled: true },
  serviceProxy: { enabled: true },
  nodes: { serviceProxy: 'none' },
};

const backupPod = 'CronJob/backup spec.jobTemplate.spec.template.spec';
const backupArgs = `${backupPod}.containers.0.args`;

const monitored: Values = {
  metrics: { serviceMonitor: { enabled: true }, rules: { enabled: true }, dashboards: { enabled: true } },
};

export const scenes: readonly Scene[] = [
  { name: 'values of parts', values: everything, effects: chosen((name) => !isTag(name)) },
  { name: 'tags of parts', values: everything, effects: chosen(isTag) },
  {
    name: 'names',
    values: {},
    effects: { nameOverride: { value: 'other', at: 'Deployment/apiserver metadata.name', shows: 'x-other-apiserver' } },
  },
  {
    name: 'a full name',
    values: {},
    effects: { fullnameOverride: { value: 'mine', at: 'Deployment/apiserver metadata.name', shows: 'mine-apiserver' } },
  },
  {
    name: 'the whole chart',
    values: { ...everything, tracing: { endpoint: 'collector:4317' } },
    effects: {
      'global.imagePullSecrets': {
        value: ['shared'],
        at: `${nodeAgentPod}.imagePullSecrets`,
        shows: { name: 'shared' },
      },
      'image.repository': { value: 'f', at: `${nodeAgentPod}.containers.0.image`, shows: 'r.example/f/orch-node:7' },
      'image.registry': {
        value: 'r.example',
        at: `${nodeAgentPod}.containers.0.image`,
        shows: 'r.example/f/orch-node:7',
      },
      'image.tag': { value: '7', at: `${nodeAgentPod}.containers.0.image`, shows: 'r.example/f/orch-node:7' },
      'image.pullPolicy': { value: 'Never', at: `${nodeAgentPod}.containers.0.imagePullPolicy` },
      'image.pullSecrets': { value: [{ name: 'a' }], at: `${nodeAgentPod}.imagePullSecrets`, shows: { name: 'a' } },
      'test.image.repository': { value: 'm/ctl', at: 'Pod/test-ready spec.containers.0.image', shows: 'q/m/ctl:6' },
      'test.image.registry': { value: 'q', at: 'Pod/test-ready spec.containers.0.image', shows: 'q/m/ctl:6' },
      'test.image.tag': { value: '6', at: 'Pod/test-ready spec.containers.0.image', shows: 'q/m/ctl:6' },
      'test.image.pullPolicy': { value: 'Always', at: 'Pod/test-ready spec.containers.0.imagePullPolicy' },
      'test.image.pullSecrets': { value: ['z'], at: 'Pod/test-ready spec.imagePullSecrets', shows: { name: 'z' } },
      commonLabels: { value: labels, at: 'ServiceAccount/node-agent metadata.labels' },
      commonAnnotations: { value: { team: 'a' }, at: 'ConfigMap/tracing metadata.annotations' },
      dialect: { value: 'kubernetes', at: apiArgs, shows: '--dialect=kubernetes' },
      hostDialect: { value: 'orch', at: 'NetworkPolicy/etcd apiVersion', shows: 'networking.orch.io/v1' },
      nodeSelector: { value: { disk: 'all' }, at: 'StatefulSet/etcd spec.template.spec.nodeSelector' },
      tolerations: {
        value: [{ key: 'all', operator: 'Exists' }],
        at: 'StatefulSet/etcd spec.template.spec.tolerations',
        shows: { key: 'all' },
      },
      priorityClassName: { value: 'all', at: 'Pod/test-ready spec.priorityClassName' },
      extraObjects: {
        value: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mine' }, data: { a: 'b' } }],
        ...{ at: 'ConfigMap/mine data', shows: { a: 'b' } },
      },
      'certificates.renewSchedule': { value: '1 1 * * *', at: 'CronJob/certificates spec.schedule' },
      'jobs.backoffLimit': { value: 3, at: 'Job/publish-1 spec.backoffLimit' },
      'jobs.successfulJobsHistoryLimit': { value: 5, at: 'CronJob/certificates spec.successfulJobsHistoryLimit' },
      'jobs.failedJobsHistoryLimit': { value: 4, at: 'CronJob/certificates spec.failedJobsHistoryLimit' },
      'tracing.samplingRatePerMillion': {
        value: 77,
        at: 'ConfigMap/tracing data',
        shows: { 'tracing.yaml': /^samplingRatePerMillion: 77$/m },
      },
    },
  },
  {
    name: 'a digest of the test, and registries of all',
    values: {},
    effects: {
      'global.imageRegistry': {
        value: 'g.example',
        at: 'StatefulSet/etcd spec.template.spec.containers.0.image',
        shows: 'g.example/orch/etcd:1.24.0',
      },
      'test.image.digest': {
        value: digest,
        at: 'Pod/test-ready spec.containers.0.image',
        shows: `g.example/orch/orchctl@${digest}`,
      },
    },
  },
  {
    name: 'programs',
    values: everything,
    effects: {
      hostClusterDomain: {
        value: 'host.example',
        at: jobArgs,
        shows:
          '--server-names=x-orch-apiserver,x-orch-apiserver.default,x-orch-apiserver.default.svc.host.example,a.example',
      },
      'network.serviceCIDR': { value: '10.9.0.0/16', at: apiArgs, shows: '--service-cluster-ip-range=10.9.0.0/16' },
      'network.podCIDR': { value: '10.8.0.0/16', at: publishArgs, shows: '--pod-range=10.8.0.0/16' },
      'apiServer.replicas': { value: 4, at: 'Deployment/apiserver spec.replicas' },
      'apiServer.names': {
        value: ['a.example'],
        at: jobArgs,
        shows:
          '--server-names=x-orch-apiserver,x-orch-apiserver.default,x-orch-apiserver.default.svc.host.example,a.example',
      },
      'apiServer.ips': { value: ['192.0.2.1'], at: jobArgs, shows: '--server-ips=192.0.2.1,10.9.0.1' },
      'apiServer.advertiseAddress': { value: '192.0.2.2', at: apiArgs, shows: '--advertise-address=192.0.2.2' },
      'apiServer.dashboard': { value: true, at: apiArgs, shows: '--dashboard=true' },
      'apiServer.service.port': { value: 443, at: 'Service/apiserver spec.ports', shows: { port: 443 } },
      'apiServer.service.nodePort': { value: 30_443, at: 'Service/apiserver spec.ports', shows: { nodePort: 30_443 } },
      ...serviceEffects('apiServer', 'Service/apiserver'),
      ...balancerEffects('apiServer', 'Service/apiserver'),
      'controllerManager.replicas': { value: 4, at: 'Deployment/controller-manager spec.replicas' },
      'scheduler.replicas': { value: 4, at: 'Deployment/scheduler spec.replicas' },
      'etcd.replicas': { value: 5, at: 'StatefulSet/etcd spec.replicas' },
      'etcd.storage.size': {
        value: '9Gi',
        at: 'StatefulSet/etcd spec.volumeClaimTemplates.0.spec.resources.requests.storage',
      },
      'etcd.storage.className': {
        value: 'fast',
        at: 'StatefulSet/etcd spec.volumeClaimTemplates.0.spec.storageClassName',
      },
      'etcd.storage.labels': {
        value: { own: 'w' },
        at: 'StatefulSet/etcd spec.volumeClaimTemplates.0.metadata.labels',
      },
      'etcd.storage.annotations': {
        value: { own: 'x' },
        at: 'StatefulSet/etcd spec.volumeClaimTemplates.0.metadata.annotations',
      },
      'etcd.quotaBytes': {
        ...{ value: 2_147_483_648, at: 'ConfigMap/etcd data' },
        shows: { 'etcd.yaml': /^quota-backend-bytes: 2147483648$/m },
      },
      'etcd.config': {
        value: { 'heartbeat-interval': 200, 'max-request-bytes': 10_485_760 },
        at: 'ConfigMap/etcd data',
        shows: { 'etcd.yaml': /^heartbeat-interval: 200\n(?:.*\n)*max-request-bytes: 10485760$/m },
      },
      'etcd.command': {
        value: ['/usr/local/bin/etcd'],
        ...{ at: 'StatefulSet/etcd spec.template.spec.containers.0.command', shows: '/usr/local/bin/etcd' },
      },
      'etcd.service.labels': { value: { own: 'u' }, at: 'Service/etcd metadata.labels' },
      'etcd.service.annotations': { value: { own: 'v' }, at: 'Service/etcd metadata.annotations' },
      'nodes.server': { value: 'https://n.example', at: publishArgs, shows: '--server=https://n.example' },
      'nodes.clusterDNS': { value: '10.9.0.9', at: publishArgs, shows: '--cluster-dns=10.9.0.9' },
      'nodeAgent.nameSuffix': {
        value: '-hosted',
        at: `${nodeAgentPod}.containers.0.args`,
        shows: '--node-name=$(NODE_NAME)-hosted',
      },
      'nodeAgent.dataDir': {
        value: '/data',
        at: `${nodeAgentPod}.volumes`,
        shows: { hostPath: { path: '/data/default-x-orch' } },
      },
      'nodeAgent.updateStrategy': { value: 'RollingUpdate', at: 'DaemonSet/node-agent spec.updateStrategy.type' },
      'serviceProxy.updateStrategy': { value: 'OnDelete', at: 'DaemonSet/service-proxy spec.updateStrategy.type' },
      'ingress.replicas': { value: 4, at: 'Deployment/ingress spec.replicas' },
      'ingress.publishAddresses': {
        value: ['192.0.2.3'],
        at: 'Deployment/ingress spec.template.spec.containers.0.args',
        shows: '--publish-address=192.0.2.3',
      },
      ...serviceEffects('ingress', 'Service/ingress'),
      'ingress.service.nodePorts.http': {
        value: 30_080,
        at: 'Service/ingress spec.ports',
        shows: { nodePort: 30_080 },
      },
      'ingress.service.nodePorts.https': {
        value: 30_444,
        at: 'Service/ingress spec.ports',
        shows: { nodePort: 30_444 },
      },
      'networkPolicy.apiServerFrom': {
        value: port(1).from,
        at: 'NetworkPolicy/apiserver spec.ingress.0.from',
        shows: port(1).from[0],
      },
      'networkPolicy.nodePortsFrom': {
        value: port(1).from,
        at: 'NetworkPolicy/node-agent spec.ingress',
        shows: { from: port(1).from, ports: [{ port: 30_000 }] },
      },
      'networkPolicy.metricsFrom': {
        value: port(1).from,
        at: 'NetworkPolicy/scheduler spec.ingress',
        shows: port(10_259),
      },
      'tracing.endpoint': { value: 'c:4317', at: apiArgs, shows: '--tracing-config-file=/tracing/tracing.yaml' },
    },
  },
  {
    name: 'a load balancer for Ingresses, and what the nodes run themselves',
    values: { ingress: { enabled: true, service: { type: 'LoadBalancer' } } },
    effects: {
      ...balancerEffects('ingress', 'Service/ingress'),
      'nodes.serviceProxy': { value: 'none', at: publishArgs, shows: '--service-proxy=none' },
      'networkPolicy.enabled': { value: false, at: 'NetworkPolicy/etcd', shows: undefined },
      'podDisruptionBudget.enabled': { value: false, at: 'PodDisruptionBudget/apiserver', shows: undefined },
    },
  },
  {
    name: 'another etcd, and what is off by default',
    values: {},
    effects: {
      'etcd.endpoints': { value: ['https://e:2379'], at: apiArgs, shows: '--etcd-servers=https://e:2379' },
      'etcd.clientSecret': {
        value: 'e',
        at: 'Deployment/apiserver spec.template.spec.volumes',
        shows: { name: 'etcd-pki', secret: { secretName: 'e' } },
      },
      'nodeAgent.enabled': { value: true, at: 'DaemonSet/node-agent kind', shows: 'DaemonSet' },
      'ingress.enabled': { value: true, at: 'Deployment/ingress kind', shows: 'Deployment' },
      'serviceProxy.enabled': { value: true, at: 'DaemonSet/service-proxy kind', shows: 'DaemonSet' },
      'metrics.serviceMonitor.enabled': { value: true, at: 'ServiceMonitor/scheduler kind', shows: 'ServiceMonitor' },
      'metrics.rules.enabled': { value: true, at: 'PrometheusRule/ kind', shows: 'PrometheusRule' },
      'metrics.dashboards.enabled': { value: true, at: 'ConfigMap/dashboard-etcd kind', shows: 'ConfigMap' },
    },
  },
  {
    name: 'backups on a volume',
    values: { backup: { enabled: true } },
    effects: {
      'backup.schedule': { value: '2 2 * * *', at: 'CronJob/backup spec.schedule' },
      'backup.suspend': { value: true, at: 'CronJob/backup spec.suspend' },
      'backup.startingDeadlineSeconds': { value: 60, at: 'CronJob/backup spec.startingDeadlineSeconds' },
      'backup.keep': { value: 3, at: backupArgs, shows: '--keep=3' },
      'backup.resources': { value: { limits: { cpu: '4' } }, at: `${backupPod}.containers.0.resources` },
      'backup.volume.size': { value: '7Gi', at: 'PersistentVolumeClaim/backup spec.resources.requests.storage' },
      'backup.volume.accessModes': {
        value: ['ReadWriteMany'],
        at: 'PersistentVolumeClaim/backup spec.accessModes',
        shows: 'ReadWriteMany',
      },
      'backup.volume.annotations': { value: { own: 'y' }, at: 'PersistentVolumeClaim/backup metadata.annotations' },
      'backup.volume.subPath': {
        value: 'a/b',
        at: `${backupPod}.containers.0.volumeMounts`,
        shows: { mountPath: '/backups', subPath: 'a/b' },
      },
      'backup.volume.className': { value: 'slow', at: 'PersistentVolumeClaim/backup spec.storageClassName' },
    },
  },
  {
    name: 'backups, and one restored from a claim',
    values: {},
    upgrade: true,
    effects: {
      'backup.enabled': { value: true, at: 'CronJob/backup kind', shows: 'CronJob' },
      'backup.volume.existingClaim': {
        value: 'mine',
        at: `${backupPod}.volumes`,
        shows: { persistentVolumeClaim: { claimName: 'mine' } },
      },
      'restore.backup': {
        value: 'orch-20260131T120000Z',
        at: 'Job/restore-0 spec.template.spec.containers.0.args',
        shows: '--backup=orch-20260131T120000Z',
      },
    },
  },
  {
    name: 'backups in a bucket',
    values: { backup: { enabled: true } },
    effects: {
      'backup.s3.bucket': { value: 'b', at: backupArgs, shows: '--to=s3://b/p' },
      'backup.s3.prefix': { value: 'p', at: backupArgs, shows: '--to=s3://b/p' },
      'backup.s3.endpoint': { value: 'http://m:9000', at: backupArgs, shows: '--s3-endpoint=http://m:9000' },
      'backup.s3.region': { value: 'r', at: backupArgs, shows: '--s3-region=r' },
      'backup.s3.secret': {
        value: 's',
        at: `${backupPod}.containers.0.env`,
        shows: { name: 'AWS_ACCESS_KEY_ID', valueFrom: { secretKeyRef: { name: 's' } } },
      },
    },
  },
  {
    name: 'Prometheus and Grafana',
    values: monitored,
    effects: {
      'metrics.serviceMonitor.labels': { value: labels, at: 'ServiceMonitor/scheduler metadata.labels' },
      'metrics.serviceMonitor.interval': {
        value: '7s',
        at: 'ServiceMonitor/scheduler spec.endpoints',
        shows: { interval: '7s' },
      },
      'metrics.serviceMonitor.scrapeTimeout': {
        value: '6s',
        at: 'ServiceMonitor/scheduler spec.endpoints',
        shows: { scrapeTimeout: '6s' },
      },
      'metrics.serviceMonitor.relabelings': {
        value: [{ targetLabel: 'team', replacement: 'a' }],
        at: 'ServiceMonitor/scheduler spec.endpoints',
        shows: { relabelings: [{ targetLabel: 'team', replacement: 'a' }] },
      },
      'metrics.serviceMonitor.metricRelabelings': {
        value: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'etcd_debugging.*' }],
        at: 'ServiceMonitor/scheduler spec.endpoints',
        shows: { metricRelabelings: [{ action: 'drop' }] },
      },
      'metrics.rules.labels': { value: labels, at: 'PrometheusRule/ metadata.labels' },
      'metrics.rules.runbooks': {
        value: 'https://books.example',
        at: 'PrometheusRule/ spec.groups',
        shows: { rules: [{ annotations: { runbook_url: /^https:\/\/books\.example/ } }] },
      },
      'metrics.dashboards.labels': { value: labels, at: 'ConfigMap/dashboard-etcd metadata.labels' },
    },
  },
];

/** Objects like those that the daemons of a large cluster create. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Event, Node, Pod } from '#api/core/v1/types.gen.js';
import type { FieldsV1, ManagedFieldsEntry } from '#api/meta/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';

function hex(length: number): string {
  return randomBytes(length).toString('hex').slice(0, length);
}

/** A pod as completed by deployments, scheduler, admission and node agents. */
export function podOf(template: Pod, n: number, templateCount: number): Pod {
  const { metadata, spec } = template;
  const { resourceVersion: _, ...common } = metadata;
  const number = n % templateCount;
  const hash = (0x6d4cf56d + number).toString(16);
  const set = `app-${number}-${hash}`;
  const time = formatTime(1_700_000_000_000 + Math.floor(n / templateCount) * 3000);
  const ip = `10.${128 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
  const token = { name: `kube-api-access-${hex(5)}` };
  const mount = { ...token, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
  const projected = {
    defaultMode: 420,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    ],
  };
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', controller: true, blockOwnerDeletion: true };
  const statusFields = {
    'f:status': { 'f:conditions': {}, 'f:containerStatuses': {}, 'f:podIP': {}, 'f:startTime': {} },
  };
  const managers = (metadata.managedFields ?? []).map((manager) => ({ ...manager, time }));
  const agent = { manager: 'kubelet', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', time } as const;
  return {
    ...template,
    metadata: {
      ...common,
      name: `${set}-${hex(3)}${n.toString(36)}`,
      generateName: `${set}-`,
      uid: randomUUID(),
      creationTimestamp: time,
      labels: { ...common.labels, app: `app-${number}`, 'pod-template-hash': hash },
      ownerReferences: [
        { ...controller, name: set, uid: `6d4cf56d-b6c0-4ffe-8000-${String(number).padStart(12, '0')}` },
      ],
      managedFields: [...managers, { ...agent, fieldsV1: statusFields, subresource: 'status' }],
    },
    spec: {
      ...spec,
      nodeName: `node-${n % 5000}`,
      containers: spec.containers.map((container) => ({
        ...container,
        image: `registry.example.com/team-${number}/${container.name}:1.24`,
        volumeMounts: [...(container.volumeMounts ?? []), mount],
      })),
      volumes: [...(spec.volumes ?? []), { ...token, projected }],
    },
    status: {
      phase: 'Running',
      qosClass: 'Burstable',
      hostIP: `172.16.${(n >> 8) & 15}.${n & 255}`,
      podIP: ip,
      podIPs: [{ ip }],
      startTime: time,
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: time,
      })),
      containerStatuses: spec.containers.map(({ name }) => ({
        name,
        image: `registry.example.com/team-${number}/${name}:1.24`,
        imageID: `registry.example.com/team-${number}/${name}@sha256:${'ab'.repeat(32)}`,
        containerID: `containerd://${hex(64)}`,
        ready: true,
        started: true,
        restartCount: 0,
        state: { running: { startedAt: time } },
      })),
    },
  };
}

/** A node as completed by a kubelet and cloud controllers, in one of a few pools, with `images`. */
export function nodeOf(n: number, images = 50): Node {
  const pool = n % 4;
  const name = `pool-${pool}-${(0x3a7f1c00 + pool).toString(16)}-${n.toString(36).padStart(4, '0')}`;
  const ip = `172.16.${(n >> 8) & 255}.${n & 255}`;
  const cidr = `10.${128 + (n >> 8)}.${n & 255}.0/24`;
  const time = (ms: number) => formatTime(1_700_000_000_000 + n * 7000 + ms);
  const amounts = { cpu: '16', 'ephemeral-storage': '101430960Ki', memory: '65807180Ki', pods: '110' };
  const condition = (type: string, status: string, reason: string, message: string) => ({
    ...{ type, status, reason, message },
    lastHeartbeatTime: time(86_400_000),
    lastTransitionTime: time(30_000),
  });
  const manager = (manager: string, fieldsV1: FieldsV1, subresource?: string): ManagedFieldsEntry => ({
    ...{ manager, operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', time: time(0), fieldsV1 },
    ...(subresource === undefined ? {} : { subresource }),
  });
  const labels = {
    'beta.kubernetes.io/arch': 'amd64',
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': 'standard-16',
    'topology.kubernetes.io/region': 'region-1',
    'topology.kubernetes.io/zone': `region-1-${'abc'[n % 3]}`,
    'example.com/pool': `pool-${pool}`,
  };
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: {
      name,
      uid: randomUUID(),
      creationTimestamp: time(0),
      labels,
      annotations: {
        'node.alpha.kubernetes.io/ttl': '0',
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
        'example.com/machine': `projects/1/zones/region-1-${'abc'[n % 3]}/instances/${hex(16)}`,
      },
      managedFields: [
        manager('kubelet', {
          'f:metadata': { 'f:labels': Object.fromEntries(Object.keys(labels).map((key) => [`f:${key}`, {}])) },
        }),
        manager('kube-controller-manager', { 'f:spec': { 'f:podCIDR': {}, 'f:podCIDRs': { '.': {}, 'v:"x"': {} } } }),
        manager('kubelet', { 'f:status': { 'f:conditions': {}, 'f:images': {}, 'f:nodeInfo': {} } }, 'status'),
      ],
    },
    spec: { podCIDR: cidr, podCIDRs: [cidr], providerID: `example:///region-1/${hex(16)}` },
    status: {
      capacity: amounts,
      allocatable: { ...amounts, cpu: '15890m', memory: '60214524Ki', 'ephemeral-storage': '47093746742' },
      conditions: [
        condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
        condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
        condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
        condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'),
      ],
      addresses: [
        { type: 'InternalIP', address: ip },
        { type: 'Hostname', address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        machineID: hex(32),
        systemUUID: randomUUID(),
        bootID: randomUUID(),
        kernelVersion: '5.15.0-1051-generic',
        osImage: 'Example Linux 22',
        containerRuntimeVersion: 'containerd://1.6.8',
        kubeletVersion: 'v1.24.0',
        kubeProxyVersion: 'v1.24.0',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
      // Each node has images of the cluster's workloads, in its own order.
      images: Array.from({ length: images }, (_, i) => {
        const image = (i * 7 + n * 13) % (2 * images);
        const digest = image.toString(16).padStart(4, '0').repeat(16);
        const repository = `registry.example.com/team-${image}/service`;
        return {
          names: [`${repository}@sha256:${digest}`, `${repository}:1.24.${image}`],
          sizeBytes: 60_000_000 + image,
        };
      }),
    },
  };
}

const eventKinds = [
  ['Scheduled', 'default-scheduler', (pod: string) => `Successfully assigned default/${pod} to node-${hex(4)}`],
  ['Pulled', 'kubelet', () => 'Container image "registry.example.com/team/service:1.24" already present on machine'],
  ['Created', 'kubelet', () => 'Created container service'],
  ['Started', 'kubelet', () => 'Started container service'],
] as const;

/** Four events per pod start. */
export function eventOf(n: number, templateCount: number): Event {
  const pod = `app-${(n >> 2) % templateCount}-6d4cf56db6-${(n >> 2).toString(36).padStart(5, '0')}`;
  const [reason, component, message] = eventKinds[n % eventKinds.length] ?? eventKinds[0];
  const time = formatTime(1_700_000_000_000 + n * 1000);
  return {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: {
      name: `${pod}.${(0x17a3b2c4d5e60000n + BigInt(n) * 1_000_003n).toString(16)}`,
      namespace: 'default',
      uid: randomUUID(),
      creationTimestamp: time,
      managedFields: [
        {
          ...{ manager: component, operation: 'Update', apiVersion: 'v1', time, fieldsType: 'FieldsV1' },
          fieldsV1: {
            ...{ 'f:count': {}, 'f:firstTimestamp': {}, 'f:involvedObject': {}, 'f:lastTimestamp': {} },
            ...{ 'f:message': {}, 'f:reason': {}, 'f:source': { 'f:component': {} }, 'f:type': {} },
          },
        },
      ],
    },
    involvedObject: {
      ...{ kind: 'Pod', namespace: 'default', name: pod, uid: randomUUID(), apiVersion: 'v1' },
      resourceVersion: String(1_000_000 + n),
      ...(component === 'kubelet' ? { fieldPath: 'spec.containers{service}' } : {}),
    },
    reason,
    message: message(pod),
    source: { component, ...(component === 'kubelet' ? { host: `node-${n % 5000}` } : {}) },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    type: 'Normal',
    reportingComponent: '',
    reportingInstance: '',
  };
}

/** Objects as a cluster has many of them, and as its daemons have made them. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';

function hex(length: number): string {
  return randomBytes(length).toString('hex').slice(0, length);
}

/** What deployments, the scheduler, admission and node agents make of a pod. */
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

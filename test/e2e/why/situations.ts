/** Pods that cannot run, each for another reason. No two situations share names, labels or keys. */

export interface Situation {
  readonly name: string;
  /** Merge patch for the node before the situation. */
  readonly node?: object;
  /** Merge patch that reverts it. */
  readonly nodeAfter?: object;
  /** Objects to create before the pod; pods among them must run first. */
  readonly objects?: readonly Fields[];
  readonly pod: Fields;
  /** Matches the explanation's message. */
  readonly cause: RegExp;
  /** Matches the text of the remedy to carry out. */
  readonly remedy: RegExp;
  /** The explanation is requested with the manifest, since the server refuses the pod. */
  readonly refused?: true;
}

export type Fields = Readonly<Record<string, unknown>>;

export interface Place {
  /** Of the dialect. */
  readonly zone: string;
  readonly noProvisioner: string;
  readonly schedulingApi: string;
  readonly storageApi: string;
}

interface PodFields {
  readonly requests?: Fields;
  readonly labels?: Fields;
  readonly ports?: readonly Fields[];
  readonly claim?: string;
  readonly spec?: Fields;
}

export function pod(name: string, { claim, labels = {}, ports, requests = {}, spec = {} }: PodFields = {}): Fields {
  const extended = Object.fromEntries(Object.entries(requests).filter(([key]) => key.includes('/')));
  const container = { name: 'main', image: 'orch/web:1.0', resources: { requests, limits: extended } };
  const volumes =
    claim === undefined ? {} : { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ ...container, ...(ports === undefined ? {} : { ports }) }],
      ...volumes,
      ...spec,
    },
  };
}

function claim(name: string, storageClassName: string): Fields {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName },
  };
}

function volume(name: string, claimName: string, more: { labels?: Fields; spec?: Fields }): Fields {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, labels: more.labels ?? {} },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: `/var/lib/volumes/${name}`, type: 'DirectoryOrCreate' },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: claimName },
      ...more.spec,
    },
  };
}

const required = 'requiredDuringSchedulingIgnoredDuringExecution';

function near(kind: 'podAffinity' | 'podAntiAffinity', app: string, topologyKey: string): Fields {
  return { affinity: { [kind]: { [required]: [{ labelSelector: { matchLabels: { app } }, topologyKey }] } } };
}

function nodeAffinity(key: string): Fields {
  const nodeSelectorTerms = [{ matchExpressions: [{ key, operator: 'In', values: ['yes', 'maybe'] }] }];
  return { affinity: { nodeAffinity: { [required]: { nodeSelectorTerms } } } };
}

function spread(app: string, topologyKey: string): Fields {
  const labelSelector = { matchLabels: { app } };
  const constraint = { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector };
  return { topologySpreadConstraints: [constraint] };
}

export function situations({ noProvisioner, schedulingApi, storageApi, zone }: Place): Situation[] {
  const port = [{ containerPort: 80, hostPort: 31_999 }];
  const taint = { key: 'own', value: 'team', effect: 'NoSchedule' };
  return [
    {
      name: 'cpu',
      pod: pod('cpu', { requests: { cpu: '9000' } }),
      cause: /1 Insufficient cpu/,
      remedy: /cpu instead of 9000/,
    },
    {
      name: 'memory',
      pod: pod('memory', { requests: { memory: '900Ti' } }),
      cause: /1 Insufficient memory/,
      remedy: /memory instead/,
    },
    {
      name: 'ephemeral-storage',
      pod: pod('disk', { requests: { 'ephemeral-storage': '9000Ti' } }),
      cause: /1 Insufficient ephemeral-storage/,
      remedy: /ephemeral-storage instead/,
    },
    {
      name: 'cpu and memory',
      pod: pod('large', { requests: { cpu: '9000', memory: '900Ti' } }),
      cause: /1 Insufficient cpu, 1 Insufficient memory/,
      remedy: /cpu instead .* and .* memory instead/,
    },
    {
      name: 'extended resource',
      pod: pod('gpu', { requests: { 'example.com/gpu': '1' } }),
      cause: /1 Insufficient example.com\/gpu/,
      remedy: /at most 0 example.com\/gpu/,
    },
    {
      name: 'init container',
      pod: pod('init', {
        spec: {
          initContainers: [
            { name: 'first', image: 'orch/web:1.0', command: ['true'], resources: { requests: { cpu: '9000' } } },
          ],
        },
        requests: { cpu: '1' },
      }),
      cause: /1 Insufficient cpu/,
      remedy: /cpu instead of 9000/,
    },
    {
      name: 'taint',
      node: { spec: { taints: [taint] } },
      nodeAfter: { spec: { taints: null } },
      pod: pod('taint'),
      cause:
        /1 node\(s\) had untolerated taint \{own: team\}\. preemption: 0\/1 nodes are available: 1 Preemption is not helpful for scheduling\.$/,
      remedy: /tolerate the taint own=team:NoSchedule/,
    },
    {
      name: 'cordoned',
      node: { spec: { unschedulable: true } },
      pod: pod('cordoned'),
      cause: /1 node\(s\) (were unschedulable|had untolerated taint)/,
      remedy: /^uncordon/,
    },
    {
      name: 'node selector',
      pod: pod('selector', { spec: { nodeSelector: { disk: 'ssd' } } }),
      cause: /didn't match Pod's node affinity\/selector/,
      remedy: /with disk=ssd/,
    },
    {
      name: 'node affinity',
      pod: pod('affinity', { spec: nodeAffinity('fast') }),
      cause: /didn't match Pod's node affinity\/selector/,
      remedy: /with fast=yes/,
    },
    {
      name: 'pod affinity',
      pod: pod('near', { spec: near('podAffinity', 'absent', 'disk') }),
      cause: /didn't match pod affinity rules/,
      remedy: /affinity be a preference/,
    },
    {
      name: 'own anti-affinity',
      objects: [pod('loud', { labels: { app: 'loud' } })],
      pod: pod('far', { spec: near('podAntiAffinity', 'loud', 'disk') }),
      cause: /didn't match pod anti-affinity rules/,
      remedy: /anti-affinity be a preference/,
    },
    {
      name: 'anti-affinity of another',
      objects: [pod('hermit', { spec: near('podAntiAffinity', 'guest', 'disk') })],
      pod: pod('guest', { labels: { app: 'guest' } }),
      cause: /didn't satisfy existing pods anti-affinity rules/,
      remedy: /delete pod default\/hermit/,
    },
    {
      name: 'spread without the label',
      pod: pod('rack', { labels: { app: 'rack' }, spec: spread('rack', 'rack') }),
      cause: /topology spread constraints \(missing required label\)/,
      remedy: /label node .* with rack/,
    },
    {
      name: 'uneven spread',
      node: { metadata: { labels: { shelf: 'a' } } },
      objects: [
        pod('even-0', { labels: { app: 'even' } }),
        {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: { name: 'ghost', labels: { shelf: 'b' } },
          spec: { taints: [{ key: 'ghost', effect: 'NoSchedule' }] },
        },
      ],
      pod: pod('even-1', { labels: { app: 'even' }, spec: spread('even', 'shelf') }),
      cause: /didn't match pod topology spread constraints/,
      remedy: /be preferences/,
    },
    {
      name: 'host port',
      objects: [pod('port-0', { ports: port })],
      pod: pod('port-1', { ports: port }),
      cause: /didn't have free ports/,
      remedy: /leave the pod's host ports out/,
    },
    {
      name: 'missing claim',
      pod: pod('no-claim', { claim: 'no-claim' }),
      cause: /persistentvolumeclaim "no-claim" not found/,
      remedy: /create the claim default\/no-claim; create a volume/,
    },
    {
      name: 'unbound claim',
      objects: [claim('unbound', '')],
      pod: pod('unbound', { claim: 'unbound' }),
      cause: /pod has unbound immediate PersistentVolumeClaims/,
      remedy: /create a volume for the claim default\/unbound/,
    },
    {
      name: 'missing storage class',
      objects: [claim('no-class', 'nowhere')],
      pod: pod('no-class', { claim: 'no-class' }),
      cause: /pod has unbound immediate PersistentVolumeClaims/,
      remedy: /create a volume for the claim default\/no-class/,
    },
    {
      name: 'delayed claim that nothing provisions',
      objects: [
        {
          apiVersion: storageApi,
          kind: 'StorageClass',
          metadata: { name: 'by-hand' },
          provisioner: noProvisioner,
          volumeBindingMode: 'WaitForFirstConsumer',
        },
        claim('delayed', 'by-hand'),
      ],
      pod: pod('delayed', { claim: 'delayed' }),
      cause: /didn't find available persistent volumes to bind/,
      remedy: /create a volume for the claim default\/delayed/,
    },
    {
      name: 'volume of another zone',
      node: { metadata: { labels: { [zone]: 'here' } } },
      nodeAfter: { metadata: { labels: { [zone]: null } } },
      objects: [volume('zoned', 'zoned', { labels: { [zone]: 'there' } }), claim('zoned', '')],
      pod: pod('zoned', { claim: 'zoned' }),
      cause: /node\(s\) had no available volume zone/,
      remedy: /there/,
    },
    {
      name: 'volume of another node',
      objects: [
        volume('pinned', 'pinned', {
          spec: {
            nodeAffinity: {
              required: {
                nodeSelectorTerms: [{ matchExpressions: [{ key: 'pin', operator: 'In', values: ['one'] }] }],
              },
            },
          },
        }),
        claim('pinned', ''),
      ],
      pod: pod('pinned', { claim: 'pinned' }),
      cause: /node\(s\) had volume node affinity conflict/,
      remedy: /pin=one/,
    },
    {
      name: 'node that does not exist',
      pod: pod('lost', { spec: { nodeName: 'nowhere' } }),
      cause: /names node "nowhere", which does not exist/,
      remedy: /leave spec.nodeName out/,
    },
    {
      name: 'unknown scheduler',
      pod: pod('foreign', { spec: { schedulerName: 'absent' } }),
      cause: /left to scheduler "absent"/,
      remedy: /name the scheduler/,
    },
    {
      name: 'important, but evicts no pod',
      objects: [
        {
          apiVersion: schedulingApi,
          kind: 'PriorityClass',
          metadata: { name: 'polite' },
          value: 1000,
          preemptionPolicy: 'Never',
        },
        pod('lesser', { ports: [{ containerPort: 80, hostPort: 31_998 }] }),
      ],
      pod: pod('polite', { ports: [{ containerPort: 80, hostPort: 31_998 }], spec: { priorityClassName: 'polite' } }),
      cause: /preemption: not eligible due to preemptionPolicy=Never\.$/,
      remedy: /delete pod default\/lesser, which stands in the way on node/,
    },
    {
      name: 'quota',
      refused: true,
      objects: [
        {
          apiVersion: 'v1',
          kind: 'ResourceQuota',
          metadata: { name: 'none', namespace: 'default' },
          spec: { hard: { 'requests.example.com/tokens': '0', 'count/pods': '0' } },
        },
      ],
      pod: pod('over'),
      cause: /exceeded quota: none/,
      remedy: /raise the quota none/,
    },
    {
      name: 'missing priority class',
      refused: true,
      pod: pod('vip', { spec: { priorityClassName: 'vip' } }),
      cause: /no PriorityClass with name vip was found/,
      remedy: /create the PriorityClass vip/,
    },
  ];
}

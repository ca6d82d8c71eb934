/** The nodes and pods of the scheduler's benchmarks. */
import type { Node, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

const inZone = ['zone-a', 'zone-b', 'zone-c'];

export function node({ labels: { hostname, zone } }: Dialect, i: number, tainted: boolean): Node {
  const name = `node-${i}`;
  return {
    metadata: { name, labels: { [hostname]: name, [zone]: inZone[i % 3] ?? '', pool: i % 2 === 0 ? 'blue' : 'green' } },
    spec: tainted && i % 2 === 0 ? { taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }] } : {},
    status: { allocatable: { cpu: '32', memory: '64Gi', pods: '110' } },
  };
}

/** `group`: pods of one group are equal for scheduling. */
export function pod(i: number, group: string, more: Partial<PodSpec>): Pod {
  return {
    metadata: { name: `pod-${i}`, uid: `pod-${i}`, namespace: 'default', labels: { app: group } },
    spec: {
      containers: [{ name: 'c', image: 'web', resources: { requests: { cpu: '100m', memory: '128Mi' } } }],
      ...more,
    },
  };
}

const labelSelector = (app: string) => ({ matchLabels: { app } });
const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
const spread = (app: string, topologyKey: string, whenUnsatisfiable: string, maxSkew = 1) => ({
  maxSkew,
  topologyKey,
  whenUnsatisfiable,
  labelSelector: labelSelector(app),
});

export interface Row {
  readonly name: string;
  /** Minimum decisions per second at 5,000 nodes. */
  readonly limit: number;
  /** Number of pod kinds. */
  readonly groups: number;
  readonly spec: (app: string) => Partial<PodSpec>;
  readonly tainted?: true;
  /** Number of low-priority pods that fill each node. */
  readonly full?: number;
}

/** Rows by their name on the command line. */
export const rowsOf = ({ labels: { hostname, zone } }: Dialect): Readonly<Record<string, Row>> => ({
  plain: { name: 'plain', limit: 5000, groups: 1, spec: () => ({}) },
  kinds: { name: 'plain, 500 kinds mixed', limit: 5000, groups: 500, spec: () => ({}) },
  anti: {
    name: 'required anti-affinity by host, 10 kinds',
    limit: 1500,
    groups: 10,
    spec: (app) => ({
      affinity: { podAntiAffinity: { [required]: [{ topologyKey: hostname, labelSelector: labelSelector(app) }] } },
    }),
  },
  preferred: {
    name: 'preferred affinity by zone, 10 kinds',
    limit: 1500,
    groups: 10,
    spec: (app) => ({
      affinity: {
        podAffinity: {
          [preferred]: [{ weight: 10, podAffinityTerm: { topologyKey: zone, labelSelector: labelSelector(app) } }],
        },
      },
    }),
  },
  spread: {
    name: 'spread over zones and hosts, 10 kinds',
    limit: 1500,
    groups: 10,
    spec: (app) => ({
      topologySpreadConstraints: [spread(app, zone, 'DoNotSchedule'), spread(app, hostname, 'ScheduleAnyway')],
    }),
  },
  affinity: {
    name: 'node affinity, 10 kinds',
    limit: 1500,
    groups: 10,
    spec: () => ({
      affinity: {
        nodeAffinity: {
          [required]: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: zone, operator: 'In', values: ['zone-a'] }] }],
          },
        },
      },
    }),
  },
  preemption: {
    name: 'preemption, 4 pods on each node',
    limit: 600,
    groups: 1,
    spec: () => ({
      priority: 1000,
      containers: [{ name: 'c', image: 'web', resources: { requests: { cpu: '8', memory: '1Gi' } } }],
    }),
    full: 4,
  },
  taints: { name: 'half of the nodes tainted, 10 kinds', limit: 1500, groups: 10, spec: () => ({}), tainted: true },
});

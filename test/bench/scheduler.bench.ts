/**
 * Decisions per second of the scheduler without an API server: each pod is decided and assumed, one after the other.
 * Arguments: --nodes 5000 --pods 5000 --only plain,spread…
 */
import { parseArgs } from 'node:util';
import type { Node, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { noObjects } from '#scheduler/cluster/objects.js';
import { type PodInfo, podInfo } from '#scheduler/cluster/pod-info.js';
import { Algorithm } from '#scheduler/decision/algorithm.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';
import { Preemption } from '#scheduler/preemption/preemption.js';
import { Nominator } from '#scheduler/queue/nominator.js';
import { figure, machineLine } from '#test/bench/report.js';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    pods: { type: 'string', default: '5000' },
    only: { type: 'string', default: '' },
  },
});
const { hostname, zone } = dialect.labels;
const inZone = ['zone-a', 'zone-b', 'zone-c'];

function node(i: number, tainted: boolean): Node {
  const name = `node-${i}`;
  return {
    metadata: { name, labels: { [hostname]: name, [zone]: inZone[i % 3] ?? '', pool: i % 2 === 0 ? 'blue' : 'green' } },
    spec: tainted && i % 2 === 0 ? { taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }] } : {},
    status: { allocatable: { cpu: '32', memory: '64Gi', pods: '110' } },
  };
}

/** `group`: pods of one group are alike. */
function pod(i: number, group: string, more: Partial<PodSpec>): Pod {
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

interface Row {
  readonly name: string;
  /** Least decisions per second at 5,000 nodes. */
  readonly limit: number;
  /** How many kinds of pods there are; each has this many pods in a row at most. */
  readonly groups: number;
  readonly spec: (app: string) => Partial<PodSpec>;
  readonly tainted?: true;
  /** The nodes are full of pods of low priority, so many on each. */
  readonly full?: number;
}

const rows: Readonly<Record<string, Row>> = {
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
};

function measure(row: Row, nodes: number, pods: number): { perSecond: number; p99Ms: number } {
  const cluster = new Cluster(dialect, noObjects);
  const times = { extensionPoint: () => undefined, pluginRecorder: () => undefined };
  const nominator = new Nominator();
  const algorithm = new Algorithm({ cluster, nominator, random: seededRandom(1), clock: realClock, times });
  const profile = defaultProfile(dialect);
  const args = { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 };
  const preemption = new Preemption({ cluster, nominator, random: seededRandom(2) });
  for (let i = 0; i < nodes; i++) cluster.setNode(node(i, row.tainted === true));
  for (let i = 0; i < nodes * (row.full ?? 0); i++) {
    const requests = { cpu: `${32 / (row.full ?? 1)}`, memory: '1Gi' };
    const low = pod(i, 'low', { containers: [{ name: 'c', image: 'web', resources: { requests } }] });
    const { metadata, spec } = low;
    cluster.setPod({ metadata: { ...metadata, uid: `low-${i}` }, spec: { ...spec, nodeName: `node-${i % nodes}` } });
  }
  const place = (info: PodInfo): string => {
    try {
      return algorithm.schedule(info, profile).node.name;
    } catch (error) {
      if (!(error instanceof FitError)) throw error;
      const found = preemption.find(info, algorithm.plan(info, profile).filters, args);
      if ('message' in found) throw new Error(found.message);
      for (const { uid } of found.victims.pods) cluster.removePod(uid);
      return found.node.name;
    }
  };
  const infos = Array.from({ length: pods }, (_, i) => {
    const app = `app-${i % row.groups}`;
    return podInfo(pod(i, app, row.spec(app)));
  });
  const durations: number[] = [];
  const started = process.cpuUsage();
  for (const info of infos) {
    const before = performance.now();
    cluster.assume(info, place(info));
    durations.push(performance.now() - before);
  }
  const { user, system } = process.cpuUsage(started);
  durations.sort((a, b) => a - b);
  return { perSecond: pods / ((user + system) / 1e6), p99Ms: durations[Math.floor(pods * 0.99)] ?? 0 };
}

process.stdout.write(`${machineLine()}\n`);
const nodes = Number(values.nodes);
const pods = Number(values.pods);
const only = values.only === '' ? Object.keys(rows) : values.only.split(',');
process.stdout.write(`${nodes} nodes, ${pods} pods; decisions per second of CPU time, and the slowest but 1 %\n`);
for (const key of only) {
  const row = rows[key];
  if (row === undefined) throw new Error(`no row ${key}; there are ${Object.keys(rows).join(', ')}`);
  const { perSecond, p99Ms } = measure(row, nodes, pods);
  figure(row.name, `${Math.round(perSecond)}/s`, `${row.limit}/s`);
  figure('', `${p99Ms.toFixed(2)} ms`);
}

/**
 * Measures decisions per second of the scheduler without an API server: pods are decided and assumed one after the other.
 * Arguments: --nodes 5000 --pods 5000 --only plain,spread…
 */
import { parseArgs } from 'node:util';
import { Registry } from 'prom-client';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { noObjects } from '#scheduler/cluster/objects.js';
import { type PodInfo, podInfo } from '#scheduler/cluster/pod-info.js';
import { Algorithm } from '#scheduler/decision/algorithm.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import { schedulerMetrics } from '#scheduler/metrics/metrics.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';
import { Preemption } from '#scheduler/preemption/preemption.js';
import { Nominator } from '#scheduler/queue/nominator.js';
import { figure, machineLine } from '#test/bench/report.js';
import { node, pod, type Row, rowsOf } from '#test/bench/scheduler/rows.js';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    pods: { type: 'string', default: '5000' },
    only: { type: 'string', default: '' },
  },
});
function measure(row: Row, nodes: number, pods: number): { perSecond: number; p99Ms: number } {
  const cluster = new Cluster(dialect, noObjects);
  const times = schedulerMetrics(new Registry());
  const nominator = new Nominator();
  const algorithm = new Algorithm({ cluster, nominator, random: seededRandom(1), clock: realClock, times });
  const profile = defaultProfile(dialect);
  const args = { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 };
  const preemption = new Preemption({ cluster, nominator, random: seededRandom(2) });
  for (let i = 0; i < nodes; i++) cluster.setNode(node(dialect, i, row.tainted === true));
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
      const candidate = preemption.find(info, algorithm.plan(info, profile).filters, args);
      if ('message' in candidate) throw new Error(candidate.message);
      for (const { uid } of candidate.victims.pods) cluster.removePod(uid);
      return candidate.node.name;
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
const rows = rowsOf(dialect);
const only = values.only === '' ? Object.keys(rows) : values.only.split(',');
process.stdout.write(`${nodes} nodes, ${pods} pods; decisions per second of CPU time, and the slowest but 1 %\n`);
for (const key of only) {
  if (key === 'growth') continue;
  const row = rows[key];
  if (row === undefined) throw new Error(`no row ${key}; there are ${Object.keys(rows).join(', ')}`);
  const { perSecond, p99Ms } = measure(row, nodes, pods);
  figure(row.name, `${Math.round(perSecond)}/s`, `${row.limit}/s`);
  figure('  99 % of them within', `${p99Ms.toFixed(2)} ms`);
}
const plain = rows['plain'];
if (plain !== undefined && (values.only === '' || only.includes('growth'))) {
  const among = (count: number) => measure(plain, count, Math.min(pods, 110 * count)).perSecond;
  // Warm up both, since the second would otherwise be faster with its code compiled already.
  for (const count of [nodes / 10, nodes]) among(count);
  const few = among(nodes / 10);
  const many = among(nodes);
  figure(`a plain decision among ${nodes} nodes instead of ${nodes / 10}`, `${(few / many).toFixed(2)} ×`, '2 ×');
}

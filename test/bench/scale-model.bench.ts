/**
 * The load of a large cluster on the API server, calculated and simulated from the costs of single operations:
 *
 * `hack/bench.sh access --many 0 --json costs.json`, then `hack/bench.sh scale-model --costs costs.json`
 *
 * Without `--costs` the costs are those of `scale-model/costs.ts`. `--nodes`, `--pods`, `--churn` and `--cores` choose
 * another cluster.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { costsOf, type MeasuredRow } from '#test/bench/scale-model/costs.js';
import {
  activities,
  demand,
  followBound,
  fullAt,
  largest,
  memoryBytes,
  workersNeeded,
} from '#test/bench/scale-model/load.js';
import { simulate } from '#test/bench/scale-model/simulate.js';

const { values } = parseArgs({
  options: {
    costs: { type: 'string', default: '' },
    nodes: { type: 'string', default: String(largest.nodes) },
    pods: { type: 'string', default: String(largest.pods) },
    churn: { type: 'string', default: String(largest.churn) },
    cores: { type: 'string', default: '16' },
  },
});
const size = {
  ...largest,
  nodes: Number(values.nodes),
  pods: Number(values.pods),
  churn: Number(values.churn),
};
const measured =
  values.costs === '' ? [] : (JSON.parse(readFileSync(values.costs, 'utf8')) as { rows: MeasuredRow[] }).rows;
const { costs, measuredNames } = costsOf(measured);
const say = (text: string) => process.stdout.write(`${text}\n`);
const simulatedSeconds = 10;

say(`${size.nodes} nodes, ${size.pods} pods, ${size.churn} of them come and go each second`);
say(`costs that were measured now: ${measuredNames.length === 0 ? 'none' : measuredNames.join(', ')}\n`);
say('| activity | each second | ms each | watchers | cores |');
say('|---|---|---|---|---|');
const all = activities(size, costs);
for (const { name, perSecond, serveMs, changes, watchers } of all) {
  const cores = (perSecond * (serveMs + changes * watchers * costs.watchEvent)) / 1000;
  const numbers = [perSecond.toPrecision(3), serveMs.toPrecision(3), changes === 1 ? watchers : '–', cores.toFixed(2)];
  say(`| ${name} | ${numbers.join(' | ')} |`);
}
const needed = demand(all, costs);
const workers = workersNeeded(needed);
const per = (value: number) => Math.round(value).toLocaleString('en');
say('');
say(
  `${per(needed.requestsPerSecond)} requests, ${per(needed.changesPerSecond)} changes and ${per(needed.eventsPerSecond)} events for watchers each second`,
);
say(
  `workers are busy with ${needed.workerCores.toFixed(1)} cores, and each of them follows all changes with ${(100 * needed.followCores).toFixed(0)} % of its own`,
);
say(
  workers === undefined
    ? 'no number of workers is enough'
    : `workers needed, at most ${fullAt * 100} % busy: ${workers}; memory then: ${(memoryBytes(size, costs, workers) / 1e9).toFixed(1)} GB`,
);
say(`no number of workers follows more than ${per(followBound(costs))} changes a second\n`);
say('| workers | busiest | served, p50 | p99 | all watchers told, p99 |');
say('|---|---|---|---|---|');
const mostWorkers = Number(values.cores);
const counts = [1, 2, 4, 8, workers ?? mostWorkers, mostWorkers].filter((count) => count <= mostWorkers);
for (const count of [...new Set(counts)].sort((a, b) => a - b)) {
  const simulated = simulate({
    activities: all,
    costs,
    workers: count,
    seconds: simulatedSeconds,
    random: seededRandom(1),
  });
  const busiest = `${(100 * simulated.busiestWorker).toFixed(0)} %`;
  const times = [simulated.servedP50Ms, simulated.servedP99Ms, simulated.notifiedP99Ms].map(
    (time) => `${time.toPrecision(3)} ms`,
  );
  const shown = simulated.busiestWorker >= 1 ? ['falls behind', '–', '–'] : times;
  say(`| ${[count, busiest, ...shown].join(' | ')} |`);
}

/**
 * CPU of the API server's process and of its etcd under the access model, compared with a bare server that does the
 * same input and output with prepared bytes, and with another API server if given, on the same requests in turns:
 *
 * `hack/bench.sh access [--peer /path/kube-apiserver] [--pods 5000] [--many 50000] [--rounds 9] [--only create,get]`
 *
 * `--different` fills the servers with pods that share no template.
 *
 * `--limits` measures only the rows with limits against the peer, and prints one table: create, the first 1,000
 * requests of each verb, get, list, status, patch, watch, memory. It uses HTTP/1.1 and HTTP/2, which kubectl, client-go
 * and our daemons speak; `--way http2` selects one.
 *
 * Rounds on a starved machine are repeated, up to `--repeats` times the number of rounds. `--many 0` omits the second,
 * larger run. `--markdown` prints the table for a document, `--json FILE` stores the figures. `PEER` may also name the
 * other server's program.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { apis, type Field } from '#test/bench/access/field.js';
import { firstRows } from '#test/bench/access/first-rows.js';
import { forgetPeak, peakTreeBytes, residentTreeBytes } from '#test/bench/access/memory.js';
import {
  ask,
  ways as bothWays,
  ownPodBody,
  podBody,
  podName,
  podPath,
  podsPath,
  prepare,
  touchAll,
} from '#test/bench/access/pods.js';
import { getRows, listRows, pagesRow, representationRows, selectorRow } from '#test/bench/access/read-rows.js';
import { limitsTable, Report, type RowFigures, rowsMarkdown } from '#test/bench/access/report.js';
import { inRounds, type RoundsOptions, spread, type Work } from '#test/bench/access/rounds.js';
import { type ApiPeer, apiPeer, type RunningServer, startBare } from '#test/bench/access/servers.js';
import { version, watchRow } from '#test/bench/access/watch-rows.js';
import { Watchers } from '#test/bench/access/watchers.js';
import { createRow, followRow, leaseRow, updateRows } from '#test/bench/access/write-rows.js';
import { Machine } from '#test/bench/machine/machine.js';
import { treeCpuMs } from '#test/bench/machine/proc.js';
import { median } from '#test/bench/machine/starvation.js';
import { machineLine } from '#test/bench/report.js';

const { values } = parseArgs({
  options: {
    peer: { type: 'string', default: process.env['PEER'] ?? '' },
    pods: { type: 'string', default: '5000' },
    /** Default: 50000, or 0 with `--limits`. */
    many: { type: 'string' },
    rounds: { type: 'string', default: '9' },
    repeats: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    limits: { type: 'boolean', default: false },
    /** Pods that share no template. */
    different: { type: 'boolean', default: false },
    /** `http1` or `http2`; default: both, if rows have both. */
    way: { type: 'string' },
    markdown: { type: 'boolean', default: false },
    json: { type: 'string', default: '' },
    /** Node.js options of our server: `--node=--cpu-prof`. */
    node: { type: 'string', multiple: true, default: [] },
    /** Further options of our server: `--arg=--workers=2`. */
    arg: { type: 'string', multiple: true, default: [] },
  },
});
const groups = [
  ...['idle', 'create', 'get', 'list', 'pages', 'selector', 'update', 'lease', 'follow', 'representations'],
  ...['watch', 'loop', 'start', 'first', 'peak'],
];
const only = values.only.split(',').filter((name) => name !== '');
const unknown = only.filter((name) => !groups.includes(name));
if (unknown.length > 0) throw new Error(`no rows ${unknown.join(', ')}; there are ${groups.join(', ')}`);
/** Rows of `--limits`; `peak` uses as much memory as the other rows would. */
const limited = ['create', 'get', 'list', 'update', 'watch', 'peak', 'first'];
const inLimits = values.limits;
const isSelected = (name: string): boolean => {
  if (inLimits) return limited.includes(name);
  return only.includes(name) || (only.length === 0 && name !== 'peak');
};
const ways = bothWays.filter((way) => values.way === undefined || values.way === way);
if (ways.length === 0) throw new Error(`no way ${values.way}; there are ${bothWays.join(', ')}`);
const many = values.many ?? (inLimits ? '0' : '50000');

/** Time for work that follows a server's first response. */
const settleMs = 5000;
/** Time after which garbage of busy periods is collected, which an idle server does not have. */
const collectedMs = 15_000;
const idleMs = 30_000;
const idleLimit = 0.012;
const loadedLimitBytes = 710e6 / 4;
const peakLimitBytes = 2300e6 / 5;
const memoryOfPeer = 0.2;
/** Limit of the peak memory, as a multiple of the loaded server's. */
const peakOfLoaded = 1.5;

interface Side {
  readonly peer: ApiPeer;
  server: RunningServer;
}

async function begin(peer: ApiPeer): Promise<Side> {
  const { server } = await peer.start();
  await prepare(server);
  return { peer, server };
}

const filling = (n: number): string => (values.different ? ownPodBody(n) : podBody(podName(n), n));

async function fill(server: RunningServer, pods: number): Promise<void> {
  const work: Work = {
    server,
    operations: pods,
    concurrency: 16,
    operation: (n) => ask(server, 'POST', podsPath, { body: filling(n) }),
  };
  await spread(work, 0);
}

/** In the order of `apis`. */
function figuresOf([orch = Number.NaN, peer]: readonly number[]): RowFigures {
  return { orch, peer };
}

async function idleRow(field: Field): Promise<void> {
  await realClock.sleep(collectedMs);
  const { values: shares, ...rounds } = await inRounds({ ...field, rounds: 1 }, async () => {
    const before = apis(field).map(({ pid }) => treeCpuMs(pid));
    await realClock.sleep(idleMs);
    return apis(field).map(({ pid }, i) => (treeCpuMs(pid) - (before[i] ?? 0)) / idleMs);
  });
  const figures = figuresOf(shares.at(-1) ?? []);
  field.report.add({ name: 'idle', unit: 'cores', figures, limits: { most: idleLimit }, rounds });
}

/** Restarts the API servers one by one; returns the durations in ms. */
async function restart(sides: readonly Side[]): Promise<number[]> {
  const took: number[] = [];
  for (const side of sides) {
    await side.server.stop();
    const { server, startMs } = await side.peer.start();
    side.server = server;
    took.push(startMs);
  }
  return took;
}

const serversOf = ([ours, peer]: readonly Side[]): Pick<Field, 'orch' | 'peer'> => {
  if (ours === undefined) throw new Error('no server');
  return { orch: ours.server, peer: peer?.server };
};

async function startRow(sides: readonly Side[], field: Field): Promise<void> {
  const { values: all, ...rounds } = await inRounds({ ...field, rounds: 3 }, () => restart(sides));
  const figures = figuresOf(sides.map((_, i) => median(all.map((took) => took[i] ?? Number.NaN))));
  field.report.add({ name: 'start to /readyz', unit: 'ms', figures, limits: {}, rounds });
}

/** Restarts the servers repeatedly. */
async function startAndMeasure(sides: readonly Side[], field: Field): Promise<void> {
  let bare: RunningServer | undefined;
  const restartAll = async () => {
    await bare?.stop();
    await restart(sides);
    bare = await startBare(sides[0]?.peer.directory ?? '');
    return { ...field, ...serversOf(sides), bare };
  };
  try {
    await firstRows(field, { until: inLimits ? [1000] : [1000, 10_000], over: ways, restart: restartAll });
  } finally {
    await bare?.stop();
  }
}

/** Event loop delay in ms since the last scrape, from the server's metrics. */
async function loopDelay(server: RunningServer): Promise<{ p99: number; max: number }> {
  const { body } = await ask(server, 'GET', '/metrics');
  const seconds = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(body.toString())?.[1] ?? Number.NaN);
  return {
    p99: seconds('nodejs_eventloop_lag_p99_seconds') * 1000,
    max: seconds('nodejs_eventloop_lag_max_seconds') * 1000,
  };
}

async function loopRows({ orch: server, pods, report, ...options }: Field): Promise<void> {
  const path = `${podsPath}?watch=true&resourceVersion=${await version(server)}`;
  const watchers = await Watchers.open({ server, path, count: 1000 });
  await realClock.sleep(settleMs);
  const { values: delays, ...rounds } = await inRounds({ ...options, rounds: 3 }, async () => {
    await loopDelay(server);
    await Promise.all(Array.from({ length: 4 }, () => ask(server, 'GET', podsPath, { discard: true })));
    return loopDelay(server);
  });
  watchers.close();
  const of = (figure: 'p99' | 'max') => ({ orch: median(delays.map((delay) => delay[figure])) });
  const name = `event loop p99, 4 lists of ${pods}, 1,000 watchers`;
  report.add({ name, unit: 'ms', figures: of('p99'), limits: { most: 20 }, rounds });
  report.add({ name: '  its longest delay', unit: 'ms', figures: of('max'), limits: {}, rounds });
}

/** The benchmark's most memory-intensive operations, once: uncached lists and many connections. */
async function reachPeak(field: Field): Promise<void> {
  const list = `${podsPath}?resourceVersion=0`;
  for (const server of apis(field)) {
    for (const headers of [{}, { accept: 'application/vnd.kubernetes.protobuf' }, { 'accept-encoding': 'gzip' }]) {
      await touchAll(server);
      await Promise.all(Array.from({ length: 4 }, () => ask(server, 'GET', list, { headers, discard: true })));
    }
  }
  await watchRow(field, 1000, 'http1');
}

async function measure(sides: readonly Side[], field: Field): Promise<Record<string, number>> {
  const { pods, report } = field;
  const growing: Record<string, number> = {};
  for (const { server } of sides) await fill(server, pods);
  const pod = (await ask(field.orch, 'GET', podPath(0))).body.length;
  report.say(`\n${pods} pods of ${pod} bytes${values.different ? ', each different' : ''}`);
  if (isSelected('idle')) await idleRow(field);
  else await realClock.sleep(collectedMs);
  const small = pods <= 5000;
  const loaded = figuresOf(sides.map(({ server }) => residentTreeBytes(server.pid)));
  growing['memory'] = loaded.orch;
  report.add({
    name: 'memory after loading',
    unit: 'bytes',
    figures: loaded,
    limits: { peer: memoryOfPeer, ...(small && { most: loadedLimitBytes }) },
  });
  for (const { server } of sides) forgetPeak(server.pid);
  if (isSelected('create')) growing['create'] = await createRow(field, ways);
  if (isSelected('get')) await getRows(field, ways);
  if (isSelected('list')) growing['list'] = await listRows(field, ways);
  if (isSelected('pages')) growing['pages'] = await pagesRow(field);
  if (isSelected('selector')) growing['selector'] = await selectorRow(field);
  if (isSelected('update')) await updateRows(field, ways);
  if (isSelected('lease')) await leaseRow(field);
  if (isSelected('follow')) await followRow(field);
  if (isSelected('representations')) await representationRows(field);
  if (isSelected('watch')) {
    if (ways.includes('http1')) await watchRow(field, 200, 'http1');
    if (ways.includes('http2') && !inLimits) await watchRow(field, 200, 'http2');
    // Measured by `peak` with `--limits`.
    if (ways.includes('http1') && !inLimits) await watchRow(field, 1000, 'http1');
    if (ways.includes('http2')) await watchRow(field, 1000, 'multiplexed');
  }
  if (isSelected('loop')) await loopRows(field);
  if (isSelected('peak')) await reachPeak(field);
  const peak = figuresOf(sides.map(({ server }) => peakTreeBytes(server.pid)));
  report.add({
    name: 'memory, peak',
    unit: 'bytes',
    figures: peak,
    limits: { peer: memoryOfPeer, ...(small && { most: peakLimitBytes }) },
  });
  const ratios: RowFigures = {
    orch: peak.orch / loaded.orch,
    peer: peak.peer === undefined || loaded.peer === undefined ? undefined : peak.peer / loaded.peer,
  };
  report.add({
    name: '  of the memory after loading',
    unit: 'times',
    figures: ratios,
    limits: small ? { most: peakOfLoaded } : {},
  });
  if (isSelected('start')) await startRow(sides, field);
  if (isSelected('first')) await startAndMeasure(sides, { ...field, ...serversOf(sides) });
  return growing;
}

/** Uses servers of its own. */
async function measureWith(pods: number, options: RoundsOptions, report: Report): Promise<Record<string, number>> {
  const peers = [await apiPeer(undefined, values.node, values.arg)];
  if (values.peer !== '') peers.push(await apiPeer(values.peer));
  const sides: Side[] = [];
  let bare: RunningServer | undefined;
  try {
    for (const peer of peers) sides.push(await begin(peer));
    bare = await startBare(peers[0]?.directory ?? '');
    return await measure(sides, { ...options, ...serversOf(sides), bare, pods, report });
  } finally {
    for (const { server } of sides) await server.stop();
    await bare?.stop();
    for (const peer of peers) await peer.destroy();
  }
}

async function main(): Promise<void> {
  const machine = await Machine.calibrated();
  const report = new Report((text) => process.stdout.write(text));
  const options = { judge: machine, rounds: Number(values.rounds), repeats: Number(values.repeats) };
  report.say(machineLine());
  report.say(machine.description);
  report.say(`CPU of the server's process for each operation, means of ${options.rounds} rounds on a warm server`);
  try {
    const sizes = [Number(values.pods), Number(many)].filter((size) => size > 0);
    const all: Record<string, number>[] = [];
    for (const pods of sizes) all.push(await measureWith(pods, options, report));
    const [small, large] = all;
    const factor = (sizes[1] ?? 0) / (sizes[0] ?? 1);
    if (small !== undefined && large !== undefined) {
      report.say(`\ngrowth with ${factor} times as many pods`);
      for (const [name, figure] of Object.entries(large)) {
        const figures = { orch: figure / (small[name] ?? figure) };
        report.add({ name: `growth: ${name}`, unit: 'times', figures, limits: { most: factor * 1.1 } });
      }
    }
  } finally {
    machine.close();
  }
  const discarded = new Set(report.rows.flatMap(({ rounds }) => (rounds === undefined ? [] : [rounds.discarded])));
  const count = [...discarded].reduce((sum, { length }) => sum + length, 0);
  report.say(`\n${count} rounds discarded because the machine was starved`);
  if (machine.badlyCalibrated) {
    report.say('THE MACHINE WAS STARVED WHEN THE BENCHMARK BEGAN: nothing can be said of these figures.');
  }
  if (inLimits) report.say(`\n${limitsTable(report.rows)}`);
  if (values.markdown) report.say(`\n${rowsMarkdown(report.rows)}`);
  const description = { machine: machineLine(), spins: machine.description, badlyCalibrated: machine.badlyCalibrated };
  if (values.json !== '')
    writeFileSync(values.json, `${JSON.stringify({ ...description, rows: report.rows }, null, 2)}\n`);
}

await main();

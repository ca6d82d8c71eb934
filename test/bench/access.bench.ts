/**
 * The access model's cost in CPU of the server process, next to a bare server that does the same input and output with
 * ready-made bytes, and next to another API server where its program is given:
 *
 * `node dist/test/bench/access.bench.js [--peer /path/kube-apiserver] [--pods 5000] [--many 50000] [--rounds 9] [--only create,get]`
 *
 * `--many 0` leaves the second, larger run out. The program may also be given as `PEER`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { spread, type Work } from '#test/bench/access/measure.js';
import { ask, podBody, podName, podPath, podsPath, prepare } from '#test/bench/access/pods.js';
import { row } from '#test/bench/access/report.js';
import {
  createRow,
  type Field,
  firstCreatesRow,
  getRows,
  listRows,
  pagesRow,
  representationRows,
  selectorRow,
  updateRows,
  version,
  watchRow,
} from '#test/bench/access/rows.js';
import { type ApiPeer, apiPeer, type RunningServer, startBare } from '#test/bench/access/servers.js';
import { Watchers } from '#test/bench/access/watchers.js';
import { cpuMs, machineLine, megabytes, residentBytes } from '#test/bench/report.js';

const { values } = parseArgs({
  options: {
    peer: { type: 'string' },
    pods: { type: 'string', default: '5000' },
    many: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '9' },
    only: { type: 'string', default: '' },
    /** Options of `node` for our server: `--node=--cpu-prof`. */
    node: { type: 'string', multiple: true, default: [] },
  },
});
const rounds = Number(values.rounds);
const peerProgram = values.peer ?? process.env['PEER'];
const only = new Set(values.only.split(',').filter((name) => name !== ''));
const wanted = (name: string): boolean => only.size === 0 || only.has(name);

/** What a server still does after it has answered for the first time. */
const settleMs = 5000;
const idleMs = 30_000;
const idleLimit = 0.012;
const loadedLimitBytes = 710e6 / 4;
const peakLimitBytes = 2300e6 / 5;

interface Side {
  readonly peer: ApiPeer;
  server: RunningServer;
}

async function begin(peer: ApiPeer): Promise<Side> {
  const { server } = await peer.start();
  await prepare(server);
  return { peer, server };
}

async function fill({ server }: Side, pods: number): Promise<void> {
  const work: Work = {
    server,
    operations: pods,
    concurrency: 16,
    operation: (n) => ask(server, 'POST', podsPath, { body: podBody(podName(n), n) }),
  };
  await spread(work, 0);
}

/** Highest resident memory so far (proc(5), `VmHWM`). */
function peakBytes(pid: number): number {
  const match = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? 0) * 1024;
}

/** Forgets the highest resident memory (proc(5), `clear_refs`). */
function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function perSide(sides: readonly Side[], figure: (side: Side) => number): { orch: number; peer?: number } {
  const [orch = 0, peer] = sides.map(figure);
  return peer === undefined ? { orch } : { orch, peer };
}

const percent = (value: number): string => `${(value * 100).toFixed(2)} % of a core`;

async function idle(sides: readonly Side[]): Promise<void> {
  await realClock.sleep(settleMs);
  const before = sides.map(({ server }) => cpuMs(server.pid));
  await realClock.sleep(idleMs);
  const used = new Map(sides.map((side, i) => [side, (cpuMs(side.server.pid) - (before[i] ?? 0)) / idleMs]));
  row(
    'idle',
    perSide(sides, (side) => used.get(side) ?? 0),
    { ms: idleLimit, peer: 1 / 50 },
    percent,
  );
}

async function restarts(sides: readonly Side[]): Promise<void> {
  const took = new Map<Side, number>();
  for (const side of sides) {
    await side.server.stop();
    const { server, startMs } = await side.peer.start();
    side.server = server;
    took.set(side, startMs);
  }
  row(
    'start to /readyz',
    perSide(sides, (side) => took.get(side) ?? 0),
    { peer: 1 / 4 },
  );
}

async function first(sides: readonly Side[], field: Field): Promise<void> {
  for (const side of sides) {
    await side.server.stop();
    ({ server: side.server } = await side.peer.start());
  }
  const [orch, peer] = sides;
  if (orch === undefined) return;
  const bare = await startBare(orch.peer.directory);
  try {
    await firstCreatesRow({ ...field, bare, orch: orch.server, peer: peer?.server });
  } finally {
    await bare.stop();
  }
}

/** Delay of the event loop, in ms, as the server's own metrics have it since they were last read. */
async function loopDelay(server: RunningServer): Promise<{ p99: number; max: number }> {
  const { body } = await ask(server, 'GET', '/metrics');
  const seconds = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(body.toString())?.[1] ?? Number.NaN);
  return {
    p99: seconds('nodejs_eventloop_lag_p99_seconds') * 1000,
    max: seconds('nodejs_eventloop_lag_max_seconds') * 1000,
  };
}

async function loopRow(server: RunningServer, pods: number): Promise<void> {
  const path = `${podsPath}?watch=true&resourceVersion=${await version(server)}`;
  const watchers = await Watchers.open({ server, path, count: 1000 });
  await realClock.sleep(settleMs);
  await loopDelay(server);
  const lists = Array.from({ length: 4 }, () => ask(server, 'GET', podsPath, { discard: true }));
  await Promise.all(lists);
  const { p99, max } = await loopDelay(server);
  watchers.close();
  row(`event loop p99, 4 lists of ${pods}, 1,000 watchers`, { orch: p99 }, { ms: 20 });
  row('  its longest delay', { orch: max });
}

async function measure(sides: readonly Side[], bare: RunningServer, pods: number): Promise<Record<string, number>> {
  const growing: Record<string, number> = {};
  const [ours, peer] = sides;
  if (ours === undefined) throw new Error('no server');
  for (const side of sides) await fill(side, pods);
  const pod = (await ask(ours.server, 'GET', podPath(0))).body.length;
  process.stdout.write(`\n${pods} pods of ${pod} bytes\n`);
  if (wanted('idle')) await idle(sides);
  else await realClock.sleep(settleMs);
  growing['memory'] = perSide(sides, ({ server }) => residentBytes(server.pid)).orch;
  const small = pods <= 5000;
  row(
    'memory after loading',
    perSide(sides, ({ server }) => residentBytes(server.pid)),
    { peer: 1 / 4, ...(small && { ms: loadedLimitBytes }) },
    megabytes,
  );
  for (const { server } of sides) forgetPeak(server.pid);
  const field: Field = { bare, orch: ours.server, peer: peer?.server, pods, rounds };
  if (wanted('create')) growing['create'] = await createRow(field);
  if (wanted('get')) await getRows(field);
  if (wanted('list')) growing['list'] = await listRows(field);
  if (wanted('pages')) growing['pages'] = await pagesRow(field);
  if (wanted('selector')) growing['selector'] = await selectorRow(field);
  if (wanted('update')) await updateRows(field);
  if (wanted('representations')) await representationRows(field);
  if (wanted('watch')) {
    await watchRow(field, 200);
    await watchRow(field, 200, true);
    await watchRow(field, 1000);
  }
  if (wanted('loop')) await loopRow(ours.server, pods);
  row(
    'memory, peak',
    perSide(sides, ({ server }) => peakBytes(server.pid)),
    { peer: 1 / 5, ...(small && { ms: peakLimitBytes }) },
    megabytes,
  );
  if (wanted('start')) await restarts(sides);
  if (wanted('first')) await first(sides, field);
  return growing;
}

async function main(): Promise<void> {
  process.stdout.write(
    `${machineLine()}\nCPU of the server process for each operation, medians of ${rounds} rounds on a warm server\n`,
  );
  const all: Record<string, number>[] = [];
  const sizes = [Number(values.pods), Number(values.many)].filter((size) => size > 0);
  for (const pods of sizes) {
    const peers = [await apiPeer(undefined, values.node)];
    if (peerProgram !== undefined) peers.push(await apiPeer(peerProgram));
    const sides: Side[] = [];
    let bare: RunningServer | undefined;
    try {
      for (const peer of peers) sides.push(await begin(peer));
      bare = await startBare(peers[0]?.directory ?? '');
      all.push(await measure(sides, bare, pods));
    } finally {
      for (const { server } of sides) await server.stop();
      await bare?.stop();
      for (const peer of peers) await peer.destroy();
    }
  }
  const [small, large] = all;
  const factor = (sizes[1] ?? 0) / (sizes[0] ?? 1);
  if (small === undefined || large === undefined) return;
  process.stdout.write(`\ngrowth with ${factor} times as many pods\n`);
  for (const [name, figure] of Object.entries(large)) {
    row(name, { orch: figure / (small[name] ?? figure) }, { ms: factor * 1.1 }, (value) => `${value.toFixed(1)}×`);
  }
}

await main();

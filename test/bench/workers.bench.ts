/**
 * What a second worker gives: requests per second and CPU with one and with two, memory, and how long others wait while one
 * worker is held.
 *
 * `node dist/test/bench/workers.bench.js [--pods 5000] [--rounds 5] [--workers 1,2] [--only get,create,list,watch,held]`
 *
 * Requests per second are those of this machine, whose cores also run etcd and the clients. What the server could do with
 * cores of its own is bounded by its busiest thread: `CPU of the busiest thread` says that.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { ask, podBody, podName, podPath, podsPath, prepare, scratchPath, touchAll } from '#test/bench/access/pods.js';
import { spread, type Work } from '#test/bench/access/rounds.js';
import { apiPeer, type RunningServer } from '#test/bench/access/servers.js';
import { Watchers } from '#test/bench/access/watchers.js';
import { figure, machineLine, megabytes, residentBytes } from '#test/bench/report.js';
import { type ServerProcess, startServerProcess } from '#test/integration/apiserver/workers/program.js';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '5' },
    workers: { type: 'string', default: '1,2' },
    only: { type: 'string', default: '' },
  },
});
const pods = Number(values.pods);
const rounds = Number(values.rounds);
const only = new Set(values.only.split(',').filter((name) => name !== ''));
const wanted = (name: string): boolean => only.size === 0 || only.has(name);

const concurrency = 32;
const watchers = 100;
const warmUpRounds = 3;

/** CPU time in ms by thread (proc(5)). */
function threadTimes(pid: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    times.set(thread, (Number(fields[11]) + Number(fields[12])) * 10);
  }
  return times;
}

interface Measured {
  readonly perSecond: number;
  /** ms of CPU per operation. */
  readonly all: number;
  readonly busiest: number;
  /** The thread that follows the store, which is the only one where there is one worker. */
  readonly main: number;
}

const ms = (value: number): string => `${value.toPrecision(3)} ms`;

const middle = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;

async function measure(
  server: RunningServer,
  operations: number,
  run: (round: number) => Promise<unknown>,
): Promise<Measured> {
  const figures: Measured[] = [];
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    const before = threadTimes(server.pid);
    const started = realClock.monotonic();
    await run(round);
    const seconds = (realClock.monotonic() - started) / 1000;
    const after = threadTimes(server.pid);
    const usedBy = (thread: string) => (after.get(thread) ?? 0) - (before.get(thread) ?? 0);
    const used = [...after.keys()].map(usedBy);
    const all = used.reduce((sum, time) => sum + time, 0);
    if (round < warmUpRounds) continue;
    const main = usedBy(String(server.pid)) / operations;
    figures.push({
      perSecond: operations / seconds,
      all: all / operations,
      busiest: Math.max(...used) / operations,
      main,
    });
  }
  return {
    perSecond: middle(figures.map(({ perSecond }) => perSecond)),
    all: middle(figures.map(({ all }) => all)),
    busiest: middle(figures.map(({ busiest }) => busiest)),
    main: middle(figures.map(({ main }) => main)),
  };
}

const requests = (server: RunningServer, operations: number, operation: Work['operation']) =>
  measure(server, operations, (round) => spread({ server, operations, concurrency, operation }, round * operations));

async function fanOut(server: RunningServer): Promise<Measured> {
  const open = await Watchers.open({ server, path: `${podsPath}?watch=true&resourceVersion=0`, count: watchers });
  try {
    await open.reached(watchers * pods);
    return await measure(server, watchers * pods, async () => {
      const { events } = open;
      await touchAll(server);
      await open.reached(events + watchers * pods);
    });
  } finally {
    open.close();
  }
}

const scenarios: Readonly<Record<string, (server: RunningServer) => Promise<Measured>>> = {
  get: (server) => requests(server, 4000, (n) => ask(server, 'GET', `${podPath(n % pods)}?resourceVersion=0`)),
  create: (server) =>
    requests(server, 500, (n) => ask(server, 'POST', scratchPath, { body: podBody(podName(n), n, 'scratch') })),
  list: (server) => requests(server, 8, () => ask(server, 'GET', `${podsPath}?resourceVersion=0`)),
  watch: fanOut,
};

async function one(workers: number): Promise<void> {
  const peer = await apiPeer(undefined, [], ['--workers', String(workers)]);
  try {
    const { server, startMs } = await peer.start();
    const name = (text: string) => `${workers} workers: ${text}`;
    figure(name('start'), ms(startMs));
    await prepare(server);
    await spread(
      {
        server,
        operations: pods,
        concurrency,
        operation: (n) => ask(server, 'POST', podsPath, { body: podBody(podName(n), n) }),
      },
      0,
    );
    figure(name(`memory with ${pods} pods`), megabytes(residentBytes(server.pid)));
    for (const [scenario, run] of Object.entries(scenarios)) {
      if (!wanted(scenario)) continue;
      const { perSecond, all, busiest, main } = await run(server);
      figure(name(`${scenario}, per second`), perSecond.toFixed(0));
      figure(name(`${scenario}, CPU`), ms(all));
      figure(name(`${scenario}, CPU of the busiest thread`), ms(busiest));
      figure(name(`${scenario}, CPU of the main thread`), ms(main));
    }
    figure(name('memory at the end'), megabytes(residentBytes(server.pid)));
    await server.stop();
  } finally {
    await peer.destroy();
  }
}

const heldForMs = 4500;
const heldLimitMs = 50;

/** What others wait for while a worker computes. */
async function held(): Promise<void> {
  const tasks: (() => Promise<void>)[] = [];
  try {
    const server = await startServerProcess({ workers: 2, teardown: (task) => tasks.unshift(task) });
    const leases = '/apis/coordination.orch.io/v1/namespaces/default/leases';
    await server.ask(leases, 'POST', { metadata: { name: 'leader' }, spec: { holderIdentity: 'a' } });
    const asked: Readonly<Record<string, () => Promise<unknown>>> = {
      '/livez': () => server.ask('/livez'),
      get: () => server.ask(`${leases}/leader`),
      'lease renewal': () => server.ask(`${leases}/leader`, 'PATCH', { spec: { holderIdentity: 'b' } }),
    };
    for (let warm = 0; warm < 100; warm++) for (const operation of Object.values(asked)) await operation();
    const times = new Map<string, number[]>(Object.keys(asked).map((name) => [name, []]));
    let over = false;
    const holding = hold(server).finally(() => {
      over = true;
    });
    await server.until(() => server.log.includes('holding'));
    while (!over) {
      for (const [name, operation] of Object.entries(asked)) {
        const started = realClock.monotonic();
        await operation();
        times.get(name)?.push(realClock.monotonic() - started);
      }
    }
    await holding;
    for (const [name, all] of times) {
      const p99 = [...all].sort((a, b) => a - b)[Math.floor(all.length * 0.99)] ?? 0;
      figure(`a worker held: ${name}, p99 of ${all.length}`, ms(p99), ms(heldLimitMs));
    }
  } finally {
    for (const task of tasks) await task();
  }
}

async function hold(server: ServerProcess): Promise<void> {
  await server.ask(`/planted/hold?ms=${heldForMs}`);
}

process.stdout.write(`${machineLine()}\n`);
if (only.size !== 1 || !only.has('held'))
  for (const workers of values.workers.split(',').map(Number)) await one(workers);
if (wanted('held')) await held();

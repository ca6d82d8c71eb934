/**
 * The gain of a second worker: requests per second and CPU with one and two workers, memory, and the latency of other
 * requests while one worker is blocked.
 *
 * `node dist/test/bench/workers.bench.js [--pods 5000] [--rounds 5] [--workers 1,2] [--only get,create,list,watch,held]`
 *
 * This machine's cores also run etcd and the clients, so a second worker gains little on two cores. With enough cores, the
 * event loop of the busiest worker is the limit: the ratio of that thread's CPU time per operation, with one worker to with
 * two, is the possible gain. Both values are printed.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { residentTreeBytes } from '#test/bench/access/memory.js';
import { ask, podBody, podName, podPath, podsPath, prepare, scratchPath, touchAll } from '#test/bench/access/pods.js';
import { spread } from '#test/bench/access/rounds.js';
import { allServe, apiPeer, type RunningServer } from '#test/bench/access/servers.js';
import { Watchers } from '#test/bench/access/watchers.js';
import { treePids } from '#test/bench/machine/proc.js';
import { cpuMs, figure, machineLine, megabytes } from '#test/bench/report.js';
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
const isSelected = (name: string): boolean => only.size === 0 || only.has(name);

const concurrency = 32;
const watchers = 100;
/** Per worker, because V8 compiles in each process. */
const warmUpRounds = 12;

interface ProcessTime {
  /** CPU time in ms of all threads, and of the event loop's thread (proc(5)). */
  readonly all: number;
  readonly loop: number;
}

function processTimes(server: RunningServer): Map<number, ProcessTime> {
  return new Map(
    treePids(server.pid).map((pid) => {
      const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [pid, { all: cpuMs(pid), loop: (Number(fields[11]) + Number(fields[12])) * 10 }];
    }),
  );
}

interface Measured {
  readonly perSecond: number;
  /** ms of CPU per operation. */
  readonly all: number;
  /** The event loop of the busiest worker. */
  readonly busiest: number;
}

/** By number of workers and scenario. */
const measured = new Map<number, Map<string, Measured>>();
const memory = new Map<number, Map<string, number>>();

const wantedTimes = 1.7;

const ms = (value: number): string => `${value.toPrecision(3)} ms`;

const middle = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;

async function measure(
  server: RunningServer,
  workers: number,
  operations: number,
  run: (round: number) => Promise<unknown>,
): Promise<Measured> {
  const figures: Measured[] = [];
  const unmeasured = warmUpRounds * workers;
  for (let round = 0; round < unmeasured + rounds; round++) {
    const before = processTimes(server);
    const started = realClock.monotonic();
    await run(round);
    const seconds = (realClock.monotonic() - started) / 1000;
    const after = [...processTimes(server)];
    if (round < unmeasured) continue;
    const used = (part: keyof ProcessTime) =>
      after.map(([pid, time]) => (time[part] - (before.get(pid)?.[part] ?? 0)) / operations);
    figures.push({
      perSecond: operations / seconds,
      all: used('all').reduce((sum, time) => sum + time, 0),
      busiest: Math.max(...used('loop')),
    });
  }
  const of = (value: (figures: Measured) => number) => middle(figures.map(value));
  return {
    perSecond: of(({ perSecond }) => perSecond),
    all: of(({ all }) => all),
    busiest: of(({ busiest }) => busiest),
  };
}

type Scenario = (server: RunningServer, workers: number) => Promise<Measured>;

const requests =
  (operations: number, operation: (server: RunningServer, n: number) => Promise<unknown>): Scenario =>
  (server, workers) =>
    measure(server, workers, operations, (round) =>
      spread({ server, operations, concurrency, operation: (n) => operation(server, n) }, round * operations),
    );

const fanOut: Scenario = async (server, workers) => {
  const open = await Watchers.open({ server, path: `${podsPath}?watch=true&resourceVersion=0`, count: watchers });
  try {
    await open.arrivals.reached(watchers * pods);
    return await measure(server, workers, watchers * pods, async () => {
      const { events } = open.arrivals;
      await touchAll(server, (written) => open.arrivals.reached(events + watchers * written));
    });
  } finally {
    open.close();
  }
};

const scenarios: Readonly<Record<string, Scenario>> = {
  get: requests(4000, (server, n) => ask(server, 'GET', `${podPath(n % pods)}?resourceVersion=0`)),
  create: requests(500, (server, n) => ask(server, 'POST', scratchPath, { body: podBody(podName(n), n, 'scratch') })),
  list: requests(64, (server) => ask(server, 'GET', `${podsPath}?resourceVersion=0`)),
  watch: fanOut,
};

async function one(workers: number): Promise<void> {
  const peer = await apiPeer(undefined, [], ['--workers', String(workers)]);
  try {
    const { server, startMs } = await peer.start();
    const name = (text: string) => `${workers} workers: ${text}`;
    const own = { figures: new Map<string, Measured>(), memory: new Map<string, number>() };
    measured.set(workers, own.figures);
    memory.set(workers, own.memory);
    const look = (when: string) => {
      const bytes = residentTreeBytes(server.pid);
      own.memory.set(when, bytes);
      figure(name(`memory, ${when}`), megabytes(bytes));
    };
    figure(name('start'), ms(startMs));
    await allServe(server, workers);
    look('started');
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
    look(`with ${pods} pods`);
    for (const [scenario, run] of Object.entries(scenarios)) {
      if (!isSelected(scenario)) continue;
      const measurement = await run(server, workers);
      own.figures.set(scenario, measurement);
      figure(name(`${scenario}, per second`), measurement.perSecond.toFixed(0));
      figure(name(`${scenario}, CPU`), ms(measurement.all));
      figure(name(`${scenario}, CPU of the busiest event loop`), ms(measurement.busiest));
    }
    look('at the end');
    await realClock.sleep(idleMs);
    look('idle again');
    await server.stop();
  } finally {
    await peer.destroy();
  }
}

/** The delay after which an idle server collects garbage. */
const idleMs = 15_000;

/** Compares several workers with one. */
function compare(): void {
  const alone = { figures: measured.get(1), memory: memory.get(1) };
  for (const [workers, figures] of measured) {
    if (workers === 1) continue;
    const name = (text: string) => `${workers} workers to one: ${text}`;
    for (const [scenario, scenarioFigures] of figures) {
      const before = alone.figures?.get(scenario);
      if (before === undefined) continue;
      const limit = workers === 2 ? `≥ ${wantedTimes}` : undefined;
      figure(name(`${scenario}, per second`), (scenarioFigures.perSecond / before.perSecond).toFixed(2));
      figure(
        name(`${scenario}, by the busiest event loop`),
        (before.busiest / scenarioFigures.busiest).toFixed(2),
        limit,
      );
      figure(name(`${scenario}, CPU`), (scenarioFigures.all / before.all).toFixed(2));
    }
    for (const [when, bytes] of memory.get(workers) ?? []) {
      const before = alone.memory?.get(when);
      if (before !== undefined) figure(name(`memory, ${when}`), (bytes / before).toFixed(2));
    }
  }
}

/** The supervisor replaces the worker at about the same time. */
const heldForMs = 5000;
const heldLimitMs = 50;

/** Measures other requests while a worker is blocked. */
async function held(): Promise<void> {
  const tasks: (() => Promise<void>)[] = [];
  try {
    const server = await startServerProcess({ workers: 2, teardown: (task) => tasks.unshift(task) });
    const leases = '/apis/coordination.orch.io/v1/namespaces/default/leases';
    await server.ask(leases, 'POST', { metadata: { name: 'leader' }, spec: { holderIdentity: 'a' } });
    const operations: Readonly<Record<string, () => Promise<unknown>>> = {
      '/livez': () => server.ask('/livez'),
      get: () => server.ask(`${leases}/leader`),
      'lease renewal': () => server.ask(`${leases}/leader`, 'PATCH', { spec: { holderIdentity: 'b' } }),
    };
    for (let warm = 0; warm < 100; warm++) for (const operation of Object.values(operations)) await operation();
    const times = new Map<string, number[]>(Object.keys(operations).map((name) => [name, []]));
    let over = false;
    const holding = hold(server).finally(() => {
      over = true;
    });
    await server.until(() => server.log.includes('holding'));
    while (!over) {
      for (const [name, operation] of Object.entries(operations)) {
        const started = realClock.monotonic();
        await operation();
        times.get(name)?.push(realClock.monotonic() - started);
      }
    }
    await holding;
    for (const [name, all] of times) {
      const sorted = [...all].sort((a, b) => a - b);
      const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
      figure(`a worker held: ${name}, p50 of ${all.length}`, ms(at(0.5)));
      figure(`a worker held: ${name}, p99`, ms(at(0.99)), ms(heldLimitMs));
      figure(`a worker held: ${name}, at most`, ms(at(1 - 1e-9)));
    }
  } finally {
    for (const task of tasks) await task();
  }
}

async function hold(server: ServerProcess): Promise<void> {
  // If the worker is replaced before its response, the connection breaks.
  await server.ask(`/planted/hold?ms=${heldForMs}`).catch(() => undefined);
}

process.stdout.write(`${machineLine()}\n`);
if (only.size !== 1 || !only.has('held'))
  for (const workers of values.workers.split(',').map(Number)) await one(workers);
compare();
if (isSelected('held')) await held();

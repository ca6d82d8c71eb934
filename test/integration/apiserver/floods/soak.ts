/**
 * Floods an API server in a process of its own, one way after the other, by one user, by 200 users and by anonymous clients.
 * Measures meanwhile what a node, a controller, an administrator and `/livez` wait, half of them on new connections. Prints a
 * table, and exits with 1 if their 99th percentile exceeds three times that of an idle server, if a request fails, or if the
 * server's memory exceeds its bound.
 *
 * The clients of a flood are processes of other machines, so they get less of this machine's processors than the server, etcd
 * and the victims (the priority of their process is lower by ten). A flood of creates ends with the removal of its objects:
 * each flood meets the same objects, on a server that has run since the first one. The idle server is measured before the floods
 * and after them; both together are what the floods are compared with.
 *
 * `--minutes N` for all together, default 10. `--only TEXT`: floods whose name contains it. `--clients N`: of one number of users
 * only, 0 for anonymous clients. `--profile DIRECTORY` for a CPU profile of the server and the delays of its event loop.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { daemonEnvironment, daemonNodeFlags } from '#daemon/memory/node-flags.js';
import { startEtcd } from '#test/etcd.js';
import { freePorts } from '#test/free-port.js';
import { clusterCredentials } from '#test/integration/apiserver/complete-server.js';
import { allFloods } from '#test/integration/apiserver/floods/all-floods.js';
import { furnish, removeCreated } from '#test/integration/apiserver/floods/tenant.js';
import { type Errand, errands, tokenFile, Victim, withNodes } from '#test/integration/apiserver/floods/victims.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    only: { type: 'string' },
    clients: { type: 'string' },
    profile: { type: 'string' },
  },
});
const totalMs = Number(values.minutes ?? 10) * 60_000;
const users = 200;
const clientCounts = values.clients === undefined ? [1, users, 0] : [Number(values.clients)];
/** Between two requests of one victim. */
const periodMs = 50;
/** The attacker needs a while to start. */
const mostStartMs = 3000;
const lessPriority = 10;
const maxRatio = 3;
const maxMegabytes = 1024;

const teardowns: (() => unknown)[] = [];
const t = { teardown: (end: () => unknown) => teardowns.unshift(end) };

interface Measured {
  /** By victim: ms, in ascending order. */
  readonly latencies: ReadonlyMap<string, readonly number[]>;
  readonly failures: readonly string[];
  readonly megabytes: number;
}

interface ProgramOptions {
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdout?: 'ignore' | 'pipe';
}

function program(specifier: string, args: readonly string[], options: ProgramOptions = {}): ChildProcess {
  const { flags = [], environment = {}, stdout = 'ignore' } = options;
  const main = fileURLToPath(import.meta.resolve(specifier));
  const env = { ...process.env, ...environment };
  return spawn(process.execPath, [...flags, main, ...args], { env, stdio: ['ignore', stdout, 'ignore'] });
}

/** With the flags of a production server. */
async function startServer(args: readonly string[]): Promise<ChildProcess> {
  const { profile } = values;
  if (profile !== undefined) await mkdir(profile, { recursive: true });
  const probe = import.meta.resolve('#test/integration/apiserver/floods/probe.js');
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`, '--import', probe];
  return program('#cmd/orch-apiserver/main.js', args, {
    flags: [...daemonNodeFlags('orch-apiserver'), ...profiling],
    environment: { ...daemonEnvironment, ...(profile === undefined ? {} : { FLOODS_PROFILE: profile }) },
  });
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

async function residentMegabytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+([0-9]+)/.exec(text)?.[1] ?? 0) / 1024;
}

function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** All victims at once. */
async function measure(all: readonly Errand[], ms: number, pid: number): Promise<Measured> {
  const end = clock.monotonic() + ms;
  const failures: string[] = [];
  const latencies = new Map<string, number[]>();
  let megabytes = 0;
  const one = async (errand: Errand) => {
    const own: number[] = [];
    for (let i = 0; clock.monotonic() < end; i++) {
      const startedMs = clock.monotonic();
      const status = await errand.run(i % 2 === 1).catch((error: unknown) => String(error));
      const tookMs = clock.monotonic() - startedMs;
      own.push(tookMs);
      if (status !== errand.expected) failures.push(`${errand.name}: ${status}`);
      await clock.sleep(Math.max(0, periodMs - tookMs));
    }
    latencies.set(errand.name, ascending(own));
  };
  const memory = async () => {
    for (; clock.monotonic() < end; await clock.sleep(500))
      megabytes = Math.max(megabytes, await residentMegabytes(pid));
  };
  await Promise.all([...all.map(one), memory()]);
  return { latencies, failures, megabytes };
}

function ascending(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

function together(first: Measured, second: Measured): Measured {
  const latencies = new Map<string, number[]>();
  for (const [name, own] of first.latencies)
    latencies.set(name, ascending([...own, ...(second.latencies.get(name) ?? [])]));
  return {
    latencies,
    failures: [...first.failures, ...second.failures],
    megabytes: Math.max(first.megabytes, second.megabytes),
  };
}

/** The largest, over all victims. */
function ratioOf(measured: Measured, idle: Measured): number {
  const p99 = (of: Measured, name: string) => percentile(of.latencies.get(name) ?? [], 0.99);
  return Math.max(...[...idle.latencies.keys()].map((name) => p99(measured, name) / p99(idle, name)));
}

function isGood(measured: Measured, idle: Measured): boolean {
  const { failures, megabytes } = measured;
  return ratioOf(measured, idle) <= maxRatio && failures.length === 0 && megabytes <= maxMegabytes;
}

function row(name: string, { latencies, megabytes }: Measured, rest: string): void {
  const times = [...latencies.values()].map((own) => percentile(own, 0.99).toFixed(1).padStart(8));
  const middle = [...latencies.values()].map((own) => percentile(own, 0.5).toFixed(1).padStart(5));
  console.log(`${name.padEnd(43)} ${times.join(' ')} ${middle.join(' ')} ${megabytes.toFixed(0).padStart(6)}  ${rest}`);
}

async function main(): Promise<boolean> {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const { argv } = await clusterCredentials(t, dialect, tokenFile(users));
  const [port = 0] = await freePorts(1);
  const args = ['--etcd-servers', etcd.endpoint, '--secure-port', String(port)];
  const server = await startServer([...withNodes(argv), `--dialect=${dialect.name}`, '--workers', '1', ...args]);
  t.teardown(() => stop(server, 'SIGTERM'));
  const pid = server.pid ?? 0;
  const ready = new Victim('ready', port);
  const isReady = () =>
    ready.send('GET', '/readyz', undefined, true).then(
      ({ status }) => status === 200,
      () => false,
    );
  while (!(await isReady())) {
    if (server.exitCode !== null) throw new Error('the API server ended');
    await clock.sleep(100);
  }
  const administrator = new Victim('set-up', port, 'administrator');
  await furnish(administrator);
  t.teardown(() => administrator.close());
  const work = errands(port);
  t.teardown(() => work.close());
  const chosen = Object.keys(allFloods).filter((name) => name.includes(values.only ?? ''));
  const eachMs = totalMs / (chosen.length * clientCounts.length + 1);
  // The first requests are slow.
  await measure(work.all, 3000, pid);
  const before = await measure(work.all, eachMs, pid);
  const names = work.all.map(({ name }) => name).join(', ');
  console.log(`ms at the 99th percentile and in the middle: ${names}; MB; ratio to idle; answers of the flood`);
  row('idle', before, '');
  const rows: { readonly name: string; readonly measured: Measured }[] = [];
  for (const flood of chosen) {
    for (const count of clientCounts) {
      const clients = count === 0 ? 'anonymous' : `${count} user${count === 1 ? '' : 's'}`;
      const { measured, report } = await underFlood(flood, count, { port, pid, all: work.all, ms: eachMs });
      const name = `${flood.padEnd(32)} ${clients}`;
      const [failure] = measured.failures;
      const failed = failure === undefined ? '' : ` FAILED ${measured.failures.length}: ${failure}`;
      const verdict = isGood(measured, before) ? '' : ' EXCEEDS';
      row(name, measured, `${ratioOf(measured, before).toFixed(1)}×${verdict} ${report}${failed}`);
      rows.push({ name, measured });
      if (flood.startsWith('creates')) await removeCreated(administrator);
    }
  }
  const after = await measure(work.all, eachMs, pid);
  row('idle afterwards', after, '');
  const idle = together(before, after);
  row('idle before and afterwards', idle, '');
  const bad = rows.filter(({ measured }) => !isGood(measured, idle));
  for (const { name, measured } of bad) console.log(`EXCEEDS ${name} ${ratioOf(measured, idle).toFixed(1)}×`);
  console.log(`${rows.length - bad.length} of ${rows.length} hold`);
  return bad.length === 0;
}

interface Attacked {
  readonly port: number;
  /** The server's. */
  readonly pid: number;
  readonly all: readonly Errand[];
  readonly ms: number;
}

async function underFlood(
  name: string,
  count: number,
  { port, pid, all, ms }: Attacked,
): Promise<{ readonly measured: Measured; readonly report: string }> {
  const attacker = program('#test/integration/apiserver/floods/attacker.js', [String(port), name, String(count)], {
    stdout: 'pipe',
  });
  if (attacker.pid !== undefined) setPriority(attacker.pid, Math.min(19, getPriority() + lessPriority));
  let report = '';
  attacker.stdout?.on('data', (part: Buffer) => {
    report += String(part);
  });
  const startMs = Math.min(mostStartMs, ms / 2);
  await clock.sleep(startMs);
  const measured = await measure(all, ms - startMs, pid);
  await stop(attacker, 'SIGTERM');
  return { measured, report };
}

try {
  if (!(await main())) process.exitCode = 1;
} finally {
  for (const end of teardowns) await end();
}

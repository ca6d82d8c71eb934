/**
 * Floods an API server in a process of its own, one way after the other, by one user, by 200 users and by anonymous clients.
 * Measures meanwhile what a node, a controller, an administrator and `/livez` wait, half of them on new connections. Prints a
 * table, and exits with 1 if their 99th percentile exceeds three times that of an idle server, if a request fails, or if the
 * server's memory exceeds its bound.
 *
 * `--minutes N` for all together, default 10. `--only TEXT`: floods whose name contains it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { startEtcd } from '#test/etcd.js';
import { freePorts } from '#test/free-port.js';
import { clusterCredentials } from '#test/integration/apiserver/complete-server.js';
import { allFloods } from '#test/integration/apiserver/floods/all-floods.js';
import { furnish } from '#test/integration/apiserver/floods/tenant.js';
import { type Errand, errands, tokenFile, Victim, withNodes } from '#test/integration/apiserver/floods/victims.js';

const { values } = parseArgs({ options: { minutes: { type: 'string' }, only: { type: 'string' } } });
const totalMs = Number(values.minutes ?? 10) * 60_000;
const users = 200;
const clientCounts = [1, users, 0] as const;
/** Between two requests of one victim. */
const periodMs = 100;
const maxRatio = 3;
const maxMegabytes = 1024;

const teardowns: (() => unknown)[] = [];
const t = { teardown: (end: () => unknown) => teardowns.unshift(end) };

interface Measured {
  readonly p99: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
  readonly requests: number;
  readonly megabytes: number;
}

function program(specifier: string, args: readonly string[], stdout: 'ignore' | 'pipe' = 'ignore'): ChildProcess {
  const main = fileURLToPath(import.meta.resolve(specifier));
  return spawn(process.execPath, [main, ...args], { stdio: ['ignore', stdout, 'ignore'] });
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

async function measure(all: readonly Errand[], ms: number, pid: number): Promise<Measured> {
  const end = clock.monotonic() + ms;
  const failures: string[] = [];
  const p99 = new Map<string, number>();
  let requests = 0;
  let megabytes = 0;
  const one = async (errand: Errand) => {
    const latencies: number[] = [];
    for (let i = 0; clock.monotonic() < end; i++) {
      const startedMs = clock.monotonic();
      const status = await errand.run(i % 2 === 1).catch((error: unknown) => String(error));
      const tookMs = clock.monotonic() - startedMs;
      latencies.push(tookMs);
      requests++;
      if (status !== errand.expected) failures.push(`${errand.name}: ${status}`);
      await clock.sleep(Math.max(0, periodMs - tookMs));
    }
    p99.set(
      errand.name,
      percentile(
        latencies.sort((a, b) => a - b),
        0.99,
      ),
    );
  };
  const memory = async () => {
    for (; clock.monotonic() < end; await clock.sleep(500))
      megabytes = Math.max(megabytes, await residentMegabytes(pid));
  };
  await Promise.all([...all.map(one), memory()]);
  return { p99, failures, requests, megabytes };
}

function row(name: string, clients: string, { p99, megabytes }: Measured, rest: string): void {
  const times = [...p99.values()].map((ms) => ms.toFixed(1).padStart(8));
  console.log(
    `${name.padEnd(32)} ${clients.padEnd(10)} ${times.join(' ')} ${megabytes.toFixed(0).padStart(6)}  ${rest}`,
  );
}

async function main(): Promise<boolean> {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const { argv } = await clusterCredentials(t, dialect, tokenFile(users));
  const [port = 0] = await freePorts(1);
  const args = ['--etcd-servers', etcd.endpoint, '--secure-port', String(port)];
  const server = program('#cmd/orch-apiserver/main.js', [
    ...withNodes(argv),
    `--dialect=${dialect.name}`,
    '--workers',
    '1',
    ...args,
  ]);
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
  administrator.close();
  const work = errands(port);
  t.teardown(() => work.close());
  const chosen = Object.keys(allFloods).filter((name) => name.includes(values.only ?? ''));
  const eachMs = totalMs / (chosen.length * clientCounts.length + 1);
  // The first requests are slow.
  await measure(work.all, 3000, pid);
  const idle = await measure(work.all, eachMs, pid);
  console.log(`ms at the 99th percentile: ${work.all.map(({ name }) => name).join(', ')}; MB; ratio to idle; requests`);
  row('idle', '', idle, `${idle.requests} requests`);
  let holds = true;
  for (const name of chosen) {
    for (const count of clientCounts) {
      const attacker = program(
        '#test/integration/apiserver/floods/attacker.js',
        [String(port), name, String(count)],
        'pipe',
      );
      let report = '';
      attacker.stdout?.on('data', (part: Buffer) => {
        report += String(part);
      });
      // The attacker needs a while to start.
      const startMs = Math.min(5000, eachMs / 2);
      await clock.sleep(startMs);
      const measured = await measure(work.all, eachMs - startMs, pid);
      await stop(attacker, 'SIGTERM');
      const ratios = work.all.map((each) => (measured.p99.get(each.name) ?? 0) / (idle.p99.get(each.name) ?? 1));
      const ratio = Math.max(...ratios);
      const good = ratio <= maxRatio && measured.failures.length === 0 && measured.megabytes <= maxMegabytes;
      holds &&= good;
      const clients = count === 0 ? 'anonymous' : `${count} user${count === 1 ? '' : 's'}`;
      const failed =
        measured.failures.length === 0 ? '' : ` FAILED ${measured.failures.length}: ${measured.failures[0]}`;
      row(name, clients, measured, `${ratio.toFixed(1)}× ${good ? 'holds' : 'EXCEEDS'} ${report}${failed}`);
    }
  }
  return holds;
}

try {
  if (!(await main())) process.exitCode = 1;
} finally {
  for (const end of teardowns) await end();
}

/**
 * What a node agent costs while its pods do nothing, in a process of its own: without probes, and with 200 probes in ten
 * seconds. `PODS=110`, `SECONDS=60`, `RUNTIME=containerd`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes } from '#test/bench/report.js';
import { eventually, root, startTestCluster, type TestCluster } from '#test/e2e/harness.js';
import { pod, shell, sleeper } from '#test/e2e/pods.js';

const count = Number(process.env['PODS'] ?? 110);
const seconds = Number(process.env['SECONDS'] ?? 60);
const runtime = process.env['RUNTIME'] === 'containerd' ? 'containerd' : 'simulated';
const patienceMs = 600_000;
/** Of 110 pods, with two probes each. */
const probedPods = Math.min(count, 100);

async function client(cluster: TestCluster, args: readonly string[], input?: string): Promise<string> {
  const answer = await cluster.client(join(root, 'bin', 'orchctl'), args, input === undefined ? {} : { input });
  if (answer.code !== 0) throw new Error(`orchctl ${args.join(' ')}: ${answer.stderr}`);
  return answer.stdout;
}

async function list(cluster: TestCluster): Promise<Pod[]> {
  return (JSON.parse(await client(cluster, ['get', 'pods', '-o', 'json'])) as { items: Pod[] }).items;
}

/** Creates them, and waits until all run and what their start left to do is done. */
async function start(cluster: TestCluster, pods: readonly Pod[]): Promise<void> {
  const items = pods.map((each) => ({ apiVersion: 'v1', kind: 'Pod', ...each }));
  await client(cluster, ['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await eventually(
    'all pods run',
    async () => (await list(cluster)).filter(({ status }) => status?.phase === 'Running').length >= pods.length,
    patienceMs,
  );
  await realClock.sleep(20_000);
}

interface Limits {
  readonly cpu: string;
  readonly memory?: string;
}

async function measure(pid: number, what: string, limits: Limits): Promise<void> {
  const before = cpuMs(pid);
  await realClock.sleep(seconds * 1000);
  const used = cpuMs(pid) - before;
  figure(`${what}: CPU in ${seconds} s`, `${used} ms`);
  figure(`${what}: share of one core`, `${(used / (seconds * 10)).toFixed(2)} %`, limits.cpu);
  figure(`${what}: resident memory`, megabytes(residentBytes(pid)), limits.memory);
}

function agentProcess({ dataDir }: TestCluster): number {
  const folder = join(dataDir, 'run');
  const file = readdirSync(folder).find((name) => name.includes('nodeagent'));
  if (file === undefined) throw new Error(`no agent among ${readdirSync(folder).join(', ')}`);
  return (JSON.parse(readFileSync(join(folder, file), 'utf8')) as { pid: number }).pid;
}

const probe = { exec: { command: ['true'] }, periodSeconds: 10 };

process.stdout.write(`${machineLine()}\n${count} pods on one node, runtime ${runtime}\n`);
const cluster = await startTestCluster({ runtime, separate: true });
try {
  const pid = agentProcess(cluster);
  const numbers = Array.from({ length: count }, (_, i) => i);
  await start(
    cluster,
    numbers.map((i) => pod(`idle-${i}`, [shell(sleeper)])),
  );
  await measure(pid, `${count} pods without probes`, { cpu: '1 %', memory: '120 MB' });
  await client(cluster, ['delete', 'pods', '--all', '--grace-period=1']);
  await eventually('all pods are gone', async () => (await list(cluster)).length === 0, patienceMs);
  const probed = { livenessProbe: probe, readinessProbe: probe };
  await start(
    cluster,
    numbers.map((i) => pod(`probed-${i}`, [shell(sleeper, i < probedPods ? probed : {})])),
  );
  await measure(pid, `${probedPods * 2} probes in 10 s`, { cpu: '5 %' });
} finally {
  await cluster.destroy();
}

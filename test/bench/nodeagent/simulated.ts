/** Measures a node agent on the in-memory runtime: its own cost without runtime calls. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { measureIdle, settleMs } from '#test/bench/nodeagent/starts.js';
import { eventually, root, startTestCluster, type TestCluster } from '#test/e2e/harness.js';
import { pod, shell, sleeper } from '#test/e2e/pods.js';

const patienceMs = 300_000;
/** Events are complete when none is added for this time. */
const quietMs = 3000;

async function client(cluster: TestCluster, args: readonly string[], input?: string): Promise<string> {
  const result = await cluster.client(join(root, 'bin', 'orchctl'), args, input === undefined ? {} : { input });
  if (result.code !== 0) throw new Error(`orchctl ${args.join(' ')}: ${result.stderr}`);
  return result.stdout;
}

async function list(cluster: TestCluster): Promise<Pod[]> {
  return (JSON.parse(await client(cluster, ['get', 'pods', '-o', 'json'])) as { items: Pod[] }).items;
}

async function start(cluster: TestCluster, pods: readonly Pod[]): Promise<void> {
  const items = pods.map((each) => ({ apiVersion: 'v1', kind: 'Pod', ...each }));
  await client(cluster, ['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const running = async () => (await list(cluster)).filter(({ status }) => status?.phase === 'Running').length;
  await eventually('all pods run', async () => (await running()) >= pods.length, patienceMs);
  await untilEventsSettle(cluster);
  await clock.sleep(settleMs);
}

/** At its default rate an agent emits the events of many pod starts for minutes; that is not part of idling. */
async function untilEventsSettle(cluster: TestCluster): Promise<void> {
  let before = -1;
  for (let eventCount = 0; eventCount > before; ) {
    before = eventCount;
    await clock.sleep(quietMs);
    eventCount = (JSON.parse(await client(cluster, ['get', 'events', '-o', 'json'])) as { items: unknown[] }).items
      .length;
  }
}

function agentProcess({ dataDir }: TestCluster): number {
  const folder = join(dataDir, 'run');
  const file = readdirSync(folder).find((name) => name.includes('nodeagent'));
  if (file === undefined) throw new Error(`no agent among ${readdirSync(folder).join(', ')}`);
  return (JSON.parse(readFileSync(join(folder, file), 'utf8')) as { pid: number }).pid;
}

export interface Size {
  readonly pods: number;
  /** Pods with two probes each in ten seconds. */
  readonly probed: number;
  readonly seconds: number;
}

export async function measureSimulated({ pods, probed, seconds }: Size): Promise<void> {
  const cluster = await startTestCluster({ runtime: 'simulated', separate: true });
  try {
    const pid = agentProcess(cluster);
    const numbers = Array.from({ length: pods }, (_, i) => i);
    await start(
      cluster,
      numbers.map((i) => pod(`idle-${i}`, [shell(sleeper)])),
    );
    await measureIdle(pid, `in memory, ${pods} pods without probes`, seconds, { cpu: '1 %', memory: '120 MB' });
    await client(cluster, ['delete', 'pods', '--all', '--grace-period=1']);
    await eventually('all pods are gone', async () => (await list(cluster)).length === 0, patienceMs);
    const probe = { exec: { command: ['true'] }, periodSeconds: 10 };
    const probes = { livenessProbe: probe, readinessProbe: probe };
    await start(
      cluster,
      numbers.map((i) => pod(`probed-${i}`, [shell(sleeper, i < probed ? probes : {})])),
    );
    await measureIdle(pid, `in memory, ${probed * 2} probes in 10 s`, seconds, { cpu: '5 %' });
  } finally {
    await cluster.destroy();
  }
}

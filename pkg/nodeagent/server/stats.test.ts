import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { ContainerState, ContainerStats } from '#nodeagent/cri/cri.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { AgentServerInput } from '#nodeagent/server/agent-server.js';
import { StatsSummary } from '#nodeagent/server/stats.js';
import { SimulatedMachine } from '#nodeagent/simulated/node.js';
import { UsageCollector } from '#nodeagent/stats/collector.js';
import { CPURates } from '#nodeagent/stats/cpu-rates.js';
import { StorageMeter } from '#nodeagent/stats/storage-meter.js';

const now = Date.parse('2030-01-01T00:00:00Z');
const uid = 'u';

const container = (id: string, name: string, state: ContainerState) =>
  ({ id, metadata: { name, attempt: 0 }, state, createdAt: now - 60_000 }) as RuntimeContainer;

const used = (id: string, name: string, timestamp: number) =>
  ({ id, name, timestamp, usageCoreNanoSeconds: 7 }) as ContainerStats;

t.test('terminated containers have no usage and the current time', async (t) => {
  // Newest first.
  const containers = [
    container('c2', 'main', 'CONTAINER_RUNNING'),
    container('c1', 'main', 'CONTAINER_EXITED'),
    container('b1', 'init', 'CONTAINER_EXITED'),
    container('b0', 'init', 'CONTAINER_EXITED'),
  ];
  const stats = [used('c2', 'main', now - 5000), used('c1', 'main', 0), used('b1', 'init', 0), used('b0', 'init', 0)];
  const node = {
    cri: { listContainerStats: async () => stats, imageFsInfo: async () => [] },
    clock: { ...realClock, now: () => now },
    observer: { get: () => ({ uid, sandboxes: [], containers }) as unknown as PodRuntime },
    podLogsDir: '/nowhere',
    nodeName: 'n1',
  };
  const pod: Pod = { metadata: { name: 'p', namespace: 'default', uid }, spec: { containers: [] } };
  const machine = new SimulatedMachine();
  const input = { node, machine, pods: { list: () => [pod] } } as unknown as AgentServerInput;
  const collector = new UsageCollector({ node: input.node, machine, pods: () => [pod] });
  const { clock, podLogsDir } = node;
  const storage = new StorageMeter({ clock, machine, podLogsDir, podDir: undefined, periodMs: 60_000 });
  const summary = await new StatsSummary(input, { collector, storage }).summary(false);
  t.same(
    summary.pods[0]?.containers.map(({ name, startTime, cpu }) => [name, startTime, cpu.time]),
    [
      ['main', '2029-12-31T23:59:00Z', '2029-12-31T23:59:55Z'],
      ['init', '2029-12-31T23:59:00Z', '2030-01-01T00:00:00Z'],
    ],
    'one run of each name: what runs, else the newest',
  );
});

t.test('the summary contains the system cgroups that options name', async (t) => {
  const mountPoint = await mkdtemp(join(tmpdir(), 'orch-system-'));
  t.teardown(() => rm(mountPoint, { recursive: true }));
  for (const [i, name] of ['agent', 'containerd', 'system', 'pods'].entries()) {
    await mkdir(join(mountPoint, name));
    await writeFile(join(mountPoint, name, 'cpu.stat'), `usage_usec ${i + 1}000000\n`);
    await writeFile(join(mountPoint, name, 'memory.stat'), 'anon 5\n');
  }
  const node = {
    cri: { listContainerStats: async () => [], imageFsInfo: async () => [] },
    clock: realClock,
    dialect: orchDialect,
    nodeName: 'n1',
    hierarchy: { mountPoint, version: 2 },
    cgroups: { path: '/pods' },
    systemPaths: { agent: '/agent', runtime: '/containerd', misc: '/system' },
  };
  const machine = new SimulatedMachine();
  const input = { node, machine, pods: { list: () => [] } } as unknown as AgentServerInput;
  const collector = new UsageCollector({ node: input.node, machine, pods: () => [] });
  const storage = new StorageMeter({ clock: realClock, machine, podLogsDir: '', podDir: undefined, periodMs: 1 });
  const { node: summarised } = await new StatsSummary(input, { collector, storage }).summary(true);
  t.same(
    summarised.systemContainers.map(({ name, cpu, memory }) => [name, cpu.usageCoreNanoSeconds, memory.rssBytes]),
    [
      ['nodeagent', 1e9, 5],
      ['runtime', 2e9, 5],
      ['misc', 3e9, 5],
      ['pods', 4e9, 5],
    ],
  );
});

t.test('CPU rates need two samples', async (t) => {
  const rates = new CPURates();
  t.equal(rates.rate('a', 1, 10_000), undefined);
  rates.endRound();
  t.equal(rates.rate('a', 1.5, 11_000), 5e8, 'half a core');
  rates.endRound();
  t.equal(rates.rate('a', 1.6, 11_100), 5e8, 'too close to the last one');
  rates.endRound();
  t.equal(rates.rate('a', 0.1, 13_000), undefined, 'it began anew');
  rates.endRound();
  rates.endRound();
  t.equal(rates.rate('a', 0.2, 14_000), undefined, 'forgotten');
});

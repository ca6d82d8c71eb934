import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import type { ContainerState, ContainerStats } from '#nodeagent/cri/cri.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import { statsSummary } from '#nodeagent/server/stats.js';

const now = Date.parse('2030-01-01T00:00:00Z');
const uid = 'u';

const container = (id: string, name: string, state: ContainerState) =>
  ({ id, metadata: { name, attempt: 0 }, state, createdAt: now - 60_000 }) as RuntimeContainer;

const used = (id: string, name: string, timestamp: number) =>
  ({ id, name, timestamp, usageCoreNanoSeconds: 7 }) as ContainerStats;

t.test('containers that have ended have no counters of their own: they are told as of now', async (t) => {
  // The newest first.
  const containers = [
    container('c2', 'main', 'CONTAINER_RUNNING'),
    container('c1', 'main', 'CONTAINER_EXITED'),
    container('b1', 'init', 'CONTAINER_EXITED'),
    container('b0', 'init', 'CONTAINER_EXITED'),
  ];
  const stats = [used('c2', 'main', now - 5000), used('c1', 'main', 0), used('b1', 'init', 0), used('b0', 'init', 0)];
  const node = {
    cri: { listContainerStats: async () => stats } as never,
    clock: { ...realClock, now: () => now },
    observer: { get: () => ({ uid, containers }) as unknown as PodRuntime } as never,
    nodeName: 'n1',
  };
  const pod = { metadata: { name: 'p', namespace: 'default', uid }, spec: { containers: [] } };
  const summary = await statsSummary(node, [pod]);
  t.same(
    summary.pods[0]?.containers.map(({ name, startTime, cpu }) => [name, startTime, cpu.time]),
    [
      ['main', '2029-12-31T23:59:00Z', '2029-12-31T23:59:55Z'],
      ['init', '2029-12-31T23:59:00Z', '2030-01-01T00:00:00Z'],
    ],
    'one run of each name: what runs, else the newest',
  );
});

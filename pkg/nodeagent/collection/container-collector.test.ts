import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import {
  ContainerCollector,
  type ContainerCollectorOptions,
  type PodOnNode,
} from '#nodeagent/collection/container-collector.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

/** A node whose pods have containers named after them, newest first. */
function nodeOf(pods: Record<string, Partial<PodOnNode> & { readonly runs: number; readonly state?: string }>) {
  const calls: string[] = [];
  const failing = new Set<string>();
  const events: string[] = [];
  const files = new Map([['/logs/a-1.log', true]]);
  const runtimes = new Map(
    Object.entries(pods).map(([uid, { runs, state = 'CONTAINER_EXITED' }]) => {
      const containers = Array.from({ length: runs }, (_, i) => ({
        ...{ id: `${uid}-${runs - i}`, state, createdAt: runs - i, podSandboxId: `${uid}-sandbox` },
        ...{ metadata: { name: uid, attempt: runs - i }, logPath: `/logs/${uid}-${runs - i}.log` },
      })) as unknown as RuntimeContainer[];
      const sandboxes = [{ id: `${uid}-sandbox`, state: 'SANDBOX_NOTREADY' }] as unknown as PodRuntime['sandboxes'];
      return [uid, { uid, name: uid, namespace: 'n', containers, sandboxes } as PodRuntime];
    }),
  );
  const remove = (id: string) => {
    if (failing.has(id)) throw new Error(`${id} is busy`);
    calls.push(id);
    for (const [uid, runtime] of runtimes) {
      const containers = runtime.containers.filter((each) => each.id !== id);
      const sandboxes = runtime.sandboxes.filter((each) => each.id !== id);
      runtimes.set(uid, { ...runtime, containers, sandboxes });
    }
  };
  const clock = new VirtualClock();
  const options: ContainerCollectorOptions = {
    clock,
    log: silentLogger,
    cri: {
      stopContainer: async (id, seconds) => void calls.push(`stop ${id} in ${seconds} s`),
      removeContainer: async (id) => remove(id),
      stopPodSandbox: async (id) => void calls.push(`stop ${id}`),
      removePodSandbox: async (id) => remove(id),
    },
    observer: { get: (uid) => runtimes.get(uid), refresh: async (uid) => runtimes.get(uid) as PodRuntime },
    policy: { minAgeMs: 0, perContainer: 1, total: -1 },
    pods: () =>
      Object.entries(pods).map(([uid, { stage = 'live', isEvicted = false }]) => ({
        ...{ pod: { metadata: { uid, name: uid, namespace: 'n' }, spec: { containers: [] } }, stage, isEvicted },
      })),
    cleanup: {
      remove: async ({ uid, containers }) => {
        if (failing.has(uid)) throw new Error(`${uid} is busy`);
        calls.push(`all of ${uid}: ${containers.map(({ id }) => id).join(' ')}`);
      },
    },
    logFiles: {
      list: async () => ['a-1.log', 'a-1.log.20300101-000000.gz', 'a-10.log'],
      remove: async (path) => void (files.has(path.replace(/\.2030.*/, '')) && calls.push(`file ${path}`)),
    },
    events: { record: ({ reason, message }) => events.push(`${reason}: ${message}`) },
  };
  return { calls, failing, events, clock, pods, collector: new ContainerCollector(options) };
}

t.test('dead runs are removed with their logs, rotated ones included', async (t) => {
  const { calls, collector } = nodeOf({ a: { runs: 3 } });
  await collector.collect({ removesEnded: false });
  t.same(calls.splice(0), ['a-1', 'file /logs/a-1.log', 'file /logs/a-1.log.20300101-000000.gz', 'a-2']);
  await collector.collect({ removesEnded: false });
  t.same(calls, [], 'and then no more');
});

t.test('containers in an unknown state are stopped first', async (t) => {
  const { calls, collector } = nodeOf({ b: { runs: 2, state: 'CONTAINER_UNKNOWN' } });
  await collector.collect({ removesEnded: false });
  t.same(calls, ['stop b-1 in 2 s', 'b-1']);
});

t.test('pods that are being removed are left alone; ended ones lose everything when disk is short', async (t) => {
  const { calls, collector } = nodeOf({
    leaving: { runs: 2, stage: 'ending' },
    done: { runs: 1, stage: 'ended' },
    live: { runs: 1 },
  });
  await collector.collect({ removesEnded: false });
  t.same(calls, []);
  await collector.collect({ removesEnded: true });
  t.same(calls, ['done-1', 'stop done-sandbox', 'done-sandbox']);
});

t.test('everything of an evicted pod is removed once, and again after a failure', async (t) => {
  const { calls, collector, failing } = nodeOf({ gone: { runs: 2, stage: 'ended', isEvicted: true } });
  failing.add('gone');
  await collector.removeEvicted();
  t.same(calls, []);
  failing.delete('gone');
  await collector.removeEvicted();
  await collector.removeEvicted();
  t.same(calls, ['all of gone: gone-2 gone-1']);
});

t.test('a container that cannot be removed stops no other removal, and is reported', async (t) => {
  const { calls, collector, failing, events, clock } = nodeOf({ x: { runs: 2 }, y: { runs: 2 } });
  failing.add('x-1');
  const stop = new AbortController();
  const running = collector.run(stop.signal);
  await clock.advance(1);
  t.same(calls.splice(0), ['y-1']);
  t.same(events, ['ContainerGCFailed: x-1 is busy']);
  failing.delete('x-1');
  await clock.advance(60_000);
  t.same(calls, ['x-1']);
  stop.abort();
  await running;
});

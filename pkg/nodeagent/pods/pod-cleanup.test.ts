import t from 'tap';
import { silentLogger } from '#daemon/log/logger.js';
import { PodCleanup } from '#nodeagent/pods/pod-cleanup.js';

t.test('a directory that cannot be removed yet blocks no other and is reported', async (t) => {
  const folders = new Set(['busy', 'known', 'runs', 'orphan']);
  let inUse = true;
  const nothing = async () => {};
  const cleanup = new PodCleanup({
    log: silentLogger,
    cri: { removeContainer: nothing, stopPodSandbox: nothing, removePodSandbox: nothing },
    observer: {
      holds: (uid) => uid === 'runs',
      refresh: async (uid) => ({ uid, name: '', namespace: '', sandboxes: [], containers: [] }),
    },
    volumes: {
      list: async () => [...folders],
      tearDown: async (uid) => {
        if (uid === 'busy' && inUse) throw new Error('target is busy');
        folders.delete(uid);
      },
    },
    logFiles: { list: async () => [], remove: nothing },
    podLogsDir: '/logs',
  });
  const isKnown = (uid: string) => uid === 'known';
  await cleanup.removeUnknown(isKnown);
  t.same([...folders], ['busy', 'known', 'runs']);
  inUse = false;
  await cleanup.removeUnknown(isKnown);
  t.same([...folders], ['known', 'runs']);
});

t.test('the newest run is removed last, so that an interrupted removal keeps it', async (t) => {
  const removed: string[] = [];
  const nothing = async () => {};
  const empty = { name: '', namespace: '', sandboxes: [], containers: [] };
  const cleanup = new PodCleanup({
    log: silentLogger,
    cri: {
      removeContainer: async (id) => void removed.push(id),
      stopPodSandbox: nothing,
      removePodSandbox: nothing,
    },
    observer: { holds: () => false, refresh: async (uid) => ({ ...empty, uid }) },
    volumes: { list: async () => [], tearDown: nothing },
    logFiles: { list: async () => [], remove: nothing },
    podLogsDir: '/logs',
  });
  const run = (attempt: number) => ({ id: `run-${attempt}`, metadata: { name: 'main', attempt } }) as never;
  await cleanup.remove({ ...empty, uid: 'u', containers: [run(2), run(1), run(0)] });
  t.same(removed, ['run-0', 'run-1', 'run-2']);
});

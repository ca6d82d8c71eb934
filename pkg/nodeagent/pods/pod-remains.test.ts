import t from 'tap';
import { silentLogger } from '#daemon/log/logger.js';
import { PodRemains } from '#nodeagent/pods/pod-remains.js';

t.test('a folder that does not go yet keeps no other, and is told of', async (t) => {
  const folders = new Set(['busy', 'known', 'runs', 'orphan']);
  let inUse = true;
  const nothing = async () => {};
  const remains = new PodRemains({
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
  await remains.removeUnknown(isKnown);
  t.same([...folders], ['busy', 'known', 'runs']);
  inUse = false;
  await remains.removeUnknown(isKnown);
  t.same([...folders], ['known', 'runs']);
});

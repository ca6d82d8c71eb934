import t from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { FilesystemState } from '#nodeagent/node/filesystem-usage.js';
import { FilesystemUsage, maxOpen, queryTimeoutMs } from '#nodeagent/node/filesystem-usage.js';

const state = (usedBytes: number): FilesystemState => ({
  ...{ availableBytes: 1, capacityBytes: 2, inodesFree: 3, inodes: 4 },
  usedBytes,
});

/** Queries of paths below `/hung` block until released. */
function fixture() {
  const clock = new VirtualClock();
  const queried: string[] = [];
  const hung = new Map<string, () => void>();
  let open = 0;
  let maxConcurrent = 0;
  let used = 0;
  const figures = new FilesystemUsage(clock, async (path) => {
    queried.push(path);
    maxConcurrent = Math.max(maxConcurrent, ++open);
    try {
      await Promise.resolve();
      if (path.startsWith('/hung') && used > 0) {
        const pending = deferred();
        hung.set(path, pending.resolve);
        await pending.promise;
      }
      if (path === '/gone') throw new Error('ENOENT');
      return state(used);
    } finally {
      open -= 1;
    }
  });
  const usedBytes = async (path: string) => {
    const result = figures.read(path).then((usage) => usage?.usedBytes ?? 'none');
    await clock.advance(0);
    return Promise.race([result, clock.advance(queryTimeoutMs).then(() => result)]);
  };
  return { ask: usedBytes, queried, hung, clock, most: () => maxConcurrent, use: (bytes: number) => (used = bytes) };
}

t.test('a responsive file system is reported as it is', async (t) => {
  const { ask, queried, most, use } = fixture();
  t.equal(await ask('/a'), 0);
  use(7);
  t.equal(await ask('/a'), 7);
  t.equal(await ask('/gone'), 'none');
  t.same(await Promise.all(['/b', '/c', '/d', '/e', '/b'].map((path) => ask(path))), [7, 7, 7, 7, 7]);
  t.equal(most(), maxOpen, 'never more at once');
  t.same(queried.slice(3), ['/b', '/c', '/d', '/e'], 'concurrent queries of a path are shared');
});

t.test('a hung file system is queried once and its last usage reported', async (t) => {
  const { ask, queried, hung, most, use } = fixture();
  t.equal(await ask('/hung/1'), 0);
  use(5);
  t.equal(await ask('/hung/1'), 0, 'the last usage');
  t.equal(await ask('/hung/1'), 0);
  t.equal(await ask('/b'), 5, 'others answer');
  t.equal(await ask('/hung/2'), 'none', 'no usage so far');
  t.equal(await ask('/hung/3'), 'none');
  t.equal(await ask('/b'), 5, 'the last usage; threads are reserved for other work');
  t.same(queried, ['/hung/1', '/hung/1', '/b', '/hung/2']);
  t.equal(most(), maxOpen);
  use(9);
  hung.get('/hung/1')?.();
  hung.get('/hung/2')?.();
  await new Promise(setImmediate);
  t.equal(await ask('/b'), 9, 'and go on when it answers');
});

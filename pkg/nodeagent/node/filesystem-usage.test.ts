import t from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { FilesystemState } from '#nodeagent/node/filesystem-usage.js';
import { FilesystemUsage, maxOpen, queryTimeoutMs } from '#nodeagent/node/filesystem-usage.js';

const state = (usedBytes: number): FilesystemState => ({
  ...{ availableBytes: 1, capacityBytes: 2, inodesFree: 3, inodes: 4 },
  usedBytes,
});

/** Paths below `/hung` answer when they are let go. */
function fixture() {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const hung = new Map<string, () => void>();
  let open = 0;
  let most = 0;
  let used = 0;
  const figures = new FilesystemUsage(clock, async (path) => {
    asked.push(path);
    most = Math.max(most, ++open);
    try {
      await Promise.resolve();
      if (path.startsWith('/hung') && used > 0) {
        const answer = deferred();
        hung.set(path, answer.resolve);
        await answer.promise;
      }
      if (path === '/gone') throw new Error('ENOENT');
      return state(used);
    } finally {
      open -= 1;
    }
  });
  const ask = async (path: string) => {
    const answer = figures.read(path).then((found) => found?.usedBytes ?? 'none');
    await clock.advance(0);
    return Promise.race([answer, clock.advance(queryTimeoutMs).then(() => answer)]);
  };
  return { ask, asked, hung, clock, most: () => most, use: (bytes: number) => (used = bytes) };
}

t.test('what answers is told as it is', async (t) => {
  const { ask, asked, most, use } = fixture();
  t.equal(await ask('/a'), 0);
  use(7);
  t.equal(await ask('/a'), 7);
  t.equal(await ask('/gone'), 'none');
  t.same(await Promise.all(['/b', '/c', '/d', '/e', '/b'].map((path) => ask(path))), [7, 7, 7, 7, 7]);
  t.equal(most(), maxOpen, 'never more at once');
  t.same(asked.slice(3), ['/b', '/c', '/d', '/e'], 'the same is asked once');
});

t.test('one that does not answer is asked once, and what was known of it told', async (t) => {
  const { ask, asked, hung, most, use } = fixture();
  t.equal(await ask('/hung/1'), 0);
  use(5);
  t.equal(await ask('/hung/1'), 0, 'as last known');
  t.equal(await ask('/hung/1'), 0);
  t.equal(await ask('/b'), 5, 'others answer');
  t.equal(await ask('/hung/2'), 'none', 'nothing was ever known');
  t.equal(await ask('/hung/3'), 'none');
  t.equal(await ask('/b'), 5, 'as last known: there are threads left for what is no figure');
  t.same(asked, ['/hung/1', '/hung/1', '/b', '/hung/2']);
  t.equal(most(), maxOpen);
  use(9);
  hung.get('/hung/1')?.();
  hung.get('/hung/2')?.();
  await new Promise(setImmediate);
  t.equal(await ask('/b'), 9, 'and go on when it answers');
});

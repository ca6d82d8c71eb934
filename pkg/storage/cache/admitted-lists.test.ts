import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { exact, latest, runCache, thing } from '#storage/cache/cache-fixture.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Entry, ListResult, ReadVersion } from '#storage/resource-storage.js';

const keysOf = (entries: readonly Entry[]) => entries.map(({ key }) => key.slice('/registry/things/'.length));

t.test('a list of admitted segments equals a filtered list, page by page, now and in the past', async (t) => {
  const random = seededRandom(7);
  const pick = (count: number) => Math.floor(random() * count);
  const store = new MemoryStore({ clock: realClock });
  const cache = runCache(t, store);
  const namespaces = ['a', 'a-b', 'ab', 'b', 'b.c', 'c', 'd'];
  const count = 120;
  for (let i = 0; i < count; i++) {
    const namespace = namespaces[pick(namespaces.length)] ?? '';
    await cache.create(i % 10 === 0 ? `x${i}` : `${namespace}/o${i}`, thing(`o${i}`, i));
  }
  const past = cache.revision;
  await cache.list({ scope: '', version: latest });
  for (let i = 0; i < 30; i++) await cache.create(`${namespaces[pick(namespaces.length)]}/later${i}`, thing('l', i));

  for (let round = 0; round < 60; round++) {
    const admitted = new Set([...namespaces, 'x0', 'x10', 'x50'].filter(() => random() < 0.5));
    const version: ReadVersion = round % 3 === 0 ? exact(past) : latest;
    const match = round % 2 === 0 ? (entry: Entry) => (entry.object() as { value: number }).value % 3 === 0 : undefined;
    const visited: string[] = [];
    const admits = (segment: string) => {
      visited.push(segment);
      return admitted.has(segment);
    };
    const whole = await cache.list({ scope: '', version, ...(match && { match }) });
    const expected = whole.entries.filter(({ key }) => admitted.has(key.split('/')[3] ?? ''));
    const limit = [0, 1, 2, 7, 50][pick(5)] ?? 0;
    const read: Entry[] = [];
    let page: ListResult | undefined;
    let first = true;
    for (; first || page?.nextKey !== undefined; first = false) {
      const startKey = page?.nextKey;
      if (page !== undefined && startKey !== undefined) {
        t.ok(
          admitted.has(startKey.split('/')[0] ?? '') || version.kind === 'exact',
          `${startKey} tells of no other segment`,
        );
      }
      const at: ReadVersion = page === undefined ? version : exact(page.revision);
      const next = await cache.list({
        ...{ scope: '', version: at, limit, admits },
        ...(match && { match }),
        ...(startKey !== undefined && { startKey }),
      });
      if (page !== undefined) t.equal(next.revision, page.revision, 'all pages are of one version');
      if (limit > 0) t.ok(next.entries.length <= limit, 'a page keeps to its limit');
      t.equal(next.remaining, undefined, 'the rest is not counted');
      read.push(...next.entries);
      page = next;
    }
    t.same(keysOf(read), keysOf(expected), `round ${round}`);
    if (limit === 0 && version.kind === 'latest')
      t.equal(new Set(visited).size, visited.length, 'each segment is decided once');
  }
});

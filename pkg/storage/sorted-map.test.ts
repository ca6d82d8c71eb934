import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { SortedMap } from '#storage/sorted-map.js';

void t.test('equals a plain map through random changes', async (t) => {
  const random = seededRandom(7);
  const map = new SortedMap<number>();
  const twin = new Map<string, number>();
  const key = () => `ns${Math.floor(random() * 5)}/${Math.floor(random() * 2000)}`;
  const sorted = (start: string, end: string | undefined) =>
    [...twin]
      .filter(([k]) => k >= start && (end === undefined || k < end))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, value]) => value);
  for (let i = 0; i < 20_000; i++) {
    const k = key();
    if (random() < 0.3) {
      if (map.delete(k) !== twin.get(k)) t.fail('delete gives what was there');
      twin.delete(k);
    } else {
      if (map.set(k, i) !== twin.get(k)) t.fail('set gives what was there');
      twin.set(k, i);
    }
    if (i % 1000 !== 0) continue;
    const [start, end] = [key(), key()];
    t.same(map.slice({ start, end }), sorted(start, end));
    t.equal(map.count({ start, end }), sorted(start, end).length);
    t.same(map.slice({ start }, 10), sorted(start, undefined).slice(0, 10));
    t.same(map.slice({}), sorted('', undefined));
    t.equal(map.get(k), twin.get(k));
    t.equal(map.size, twin.size);
  }
});

void t.test('a snapshot does not change with the map', async (t) => {
  const map = new SortedMap<number>();
  for (let i = 0; i < 3000; i++) map.set(String(i).padStart(5, '0'), i);
  const view = map.snapshot();
  for (let i = 0; i < 3000; i += 2) map.delete(String(i).padStart(5, '0'));
  for (let i = 1; i < 3000; i += 2) map.set(String(i).padStart(5, '0'), -i);
  map.set('new', 1);
  t.equal(view.size, 3000);
  t.same(
    view.slice({}),
    Array.from({ length: 3000 }, (_, i) => i),
  );
  t.equal(view.get('00004'), 4);
  t.equal(view.get('new'), undefined);
  t.equal(view.count({ start: '00010', end: '00020' }), 10);
  t.equal(map.count({ start: '00010', end: '00020' }), 5);
});

void t.test('an empty map', async (t) => {
  const map = new SortedMap<number>();
  t.equal(map.get('a'), undefined);
  t.equal(map.delete('a'), undefined);
  t.same(map.slice({ start: 'a' }), []);
  t.equal(map.count({ start: 'a', end: 'b' }), 0);
  map.set('a', 1);
  map.delete('a');
  t.equal(map.size, 0);
  t.same(map.snapshot().slice({}), []);
});

void t.test('loading replaces the content', async (t) => {
  const map = new SortedMap<number>();
  map.set('old', 1);
  const before = map.snapshot();
  const keys = Array.from({ length: 2000 }, (_, i) => `k${String(i).padStart(4, '0')}`);
  map.load(
    keys,
    keys.map((_, i) => i),
  );
  t.same(
    map.slice({}),
    keys.map((_, i) => i),
  );
  t.equal(map.get('old'), undefined);
  t.equal(before.get('old'), 1);
  t.equal(map.set('k0100x', -1), undefined);
  t.equal(map.count({ start: 'k0100', end: 'k0101' }), 2);
  map.load([], []);
  t.equal(map.size, 0);
});

import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { StreamTable } from '#http/http2/stream-table.js';

void t.test('holds what a Map would hold, whatever comes and goes', async (t) => {
  const seed = 20221122;
  const random = seededRandom(seed);
  const table = new StreamTable<{ readonly id: number }>();
  const map = new Map<number, { readonly id: number }>();
  let next = 1;
  for (let step = 0; step < 20_000; step++) {
    // By turns more come than go, and more go than come.
    if (random() < (step % 2000 < 1000 ? 0.6 : 0.4)) {
      const stream = { id: next };
      // As if others had been between them.
      next += random() < 0.1 ? 2 * 16 : 2;
      table.add(stream);
      map.set(stream.id, stream);
    } else {
      const ids = [...map.keys()];
      const id = random() < 0.1 ? next + 2 : (ids[Math.floor(random() * ids.length)] ?? 1);
      if (table.delete(id) !== map.delete(id)) return void t.fail(`seed ${seed}, step ${step}: delete ${id}`);
    }
    if (table.size !== map.size) return void t.fail(`seed ${seed}, step ${step}: size`);
    if (step % 50 !== 0) continue;
    for (let id = 1; id <= next; id += 2) {
      if (table.get(id) !== map.get(id)) return void t.fail(`seed ${seed}, step ${step}: get ${id}`);
    }
  }
  const byId = (a: { readonly id: number }, b: { readonly id: number }) => a.id - b.id;
  t.same(table.values().sort(byId), [...map.values()].sort(byId));
  table.clear();
  t.equal(table.size, 0);
  t.same(table.values(), []);
  t.equal(table.has(1), false);
});

import t from 'tap';
import { garbageCollector, isScattered } from '#daemon/memory/idle-collector.js';

const mebibyte = 1024 * 1024;

t.test('a heap is compacted if that returns much memory', async (t) => {
  const cases: [used: number, total: number, scattered: boolean][] = [
    [25, 30, false],
    [25, 35, true],
    [10, 13, false],
    [200, 230, false],
    [200, 250, true],
  ];
  for (const [used, total, scattered] of cases)
    t.equal(isScattered({ used: used * mebibyte, total: total * mebibyte }), scattered, `${used} of ${total}`);
});

t.test('unreferenced objects are collected, referenced ones are kept', async (t) => {
  const collect = garbageCollector();
  const held: object[] = [];
  const held2: object[] = [];
  for (let i = 0; i < 300_000; i++) (i % 10 === 0 ? held : held2).push({ i, text: `text ${i}` });
  const gone = new WeakRef(held2.splice(0)[0] as object);
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  t.equal(gone.deref(), undefined);
  t.same(held[29_999], { i: 299_990, text: 'text 299990' });
});

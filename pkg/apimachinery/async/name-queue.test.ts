import t from 'tap';
import { NameQueue } from '#apimachinery/async/name-queue.js';

t.test('each name is drained once, however often it was added, until the signal aborts', async (t) => {
  const stop = new AbortController();
  const pending = new NameQueue();
  for (const name of ['a', 'b', 'a']) pending.add(name);
  const drained: string[] = [];
  const all = (async () => {
    for await (const name of pending.drain(stop.signal)) {
      drained.push(name);
      if (name === 'b') setImmediate(() => pending.add('late'));
      if (name === 'late') setImmediate(() => stop.abort());
    }
  })();
  await all;
  t.same(drained, ['a', 'b', 'late']);
  pending.add('never');
  for await (const name of pending.drain(stop.signal)) t.fail(name);
});

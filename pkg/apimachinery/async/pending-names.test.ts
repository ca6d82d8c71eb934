import t from 'tap';
import { PendingNames } from '#apimachinery/async/pending-names.js';

t.test('each is taken once however often it was marked, until the signal aborts', async (t) => {
  const stop = new AbortController();
  const pending = new PendingNames();
  for (const name of ['a', 'b', 'a']) pending.mark(name);
  const taken: string[] = [];
  const all = (async () => {
    for await (const name of pending.taken(stop.signal)) {
      taken.push(name);
      if (name === 'b') setImmediate(() => pending.mark('late'));
      if (name === 'late') setImmediate(() => stop.abort());
    }
  })();
  await all;
  t.same(taken, ['a', 'b', 'late']);
  pending.mark('never');
  for await (const name of pending.taken(stop.signal)) t.fail(name);
});

import t from 'tap';
import { NamespaceTurns } from '#apiserver/admission/resource-quota.js';

t.test('turns of one namespace follow each other', async (t) => {
  const turns = new NamespaceTurns();
  const order: string[] = [];
  const first = await turns.take('a');
  const second = turns.take('a').then((end) => {
    order.push('second');
    end();
  });
  const other = await turns.take('b');
  order.push('other');
  other();
  order.push('first');
  first();
  first();
  await second;
  t.same(order, ['other', 'first', 'second']);
  const again = await turns.take('a');
  again();
});

t.test('an aborted caller leaves the queue', async (t) => {
  const turns = new NamespaceTurns();
  const end = await turns.take('a');
  const leaving = new AbortController();
  const left = turns.take('a', leaving.signal);
  const patient = turns.take('a');
  leaving.abort(new Error('gone'));
  await t.rejects(left, { message: 'gone' });
  await t.rejects(turns.take('a', leaving.signal), { message: 'gone' });
  end();
  (await patient)();
  t.pass('the next one has its turn');
});

import t from 'tap';
import { namespaces } from '#api/core/v1/resources.gen.js';
import { requeueAfter, terminal } from '#client/workqueue/outcome.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { withoutSecrets } from '#controllers/framework/loop-report.js';
import { Harness } from '#controllers/framework/testing/harness.js';

t.test('the report lists keys by state, up to a limit', async (t) => {
  const harness = new Harness(t, [namespaces]);
  const heard: unknown[] = [];
  let failing = true;
  const loop = new ReconcileLoop(
    { ...harness.context, onLoop: (each) => heard.push(each) },
    {
      name: 'turn',
      concurrency: 1,
      async reconcile(key) {
        if (key === 'later') return requeueAfter(60_000);
        if (key === 'never') return terminal(new Error('hopeless'));
        if (key === 'slow') await harness.clock.sleep(1000);
        if (key === 'flaky' && failing) throw new Error('not yet');
        return undefined;
      },
    },
  );
  t.same(heard, [loop]);
  t.equal(loop.report(9).lastSync, undefined, 'nothing yet');
  await harness.start({ name: 'turn', run: (signal) => loop.run(signal) });
  for (const key of ['later', 'never', 'flaky', 'slow', 'behind']) loop.queue.add(key);
  await harness.settled();
  loop.queue.add('slow');
  const start = harness.clock.now();
  const at = (ms: number) => new Date(start + ms).toISOString().replace('Z', '000Z');
  t.strictSame(loop.report(9), {
    name: 'turn',
    concurrency: 1,
    lastSync: at(0),
    counts: { waiting: 1, working: 1, retrying: 1, scheduled: 1 },
    waiting: [{ key: 'behind', seconds: 0 }],
    working: [{ key: 'slow', seconds: 0, again: true }],
    retrying: [{ key: 'flaky', failures: 1, nextTry: at(5), error: 'not yet' }],
    scheduled: [{ key: 'later', at: at(60_000) }],
    errors: [
      { key: 'flaky', time: at(0), error: 'not yet' },
      { key: 'never', time: at(0), error: 'hopeless' },
    ],
  });
  const none = loop.report(0);
  t.same([none.waiting, none.working, none.retrying, none.scheduled, none.errors], [[], [], [], [], []]);
  t.equal(none.counts.retrying, 1, 'beyond the limit only the count');
  failing = false;
  await harness.advance(3000);
  const { counts, errors } = loop.report(9);
  t.same(counts, { waiting: 0, working: 0, retrying: 0, scheduled: 1 });
  t.match(errors[0], { key: 'flaky', recovered: String });
  t.equal(errors[1]?.recovered, undefined);
});

t.test('the most recent errors are stored', async (t) => {
  const harness = new Harness(t, [namespaces]);
  const options = { name: 'turn', concurrency: 1, maxRetries: 0 };
  const loop = new ReconcileLoop(harness.context, {
    ...options,
    reconcile: (key) => Promise.reject(new Error(`no ${key}`)),
  });
  await harness.start({ name: 'turn', run: (signal) => loop.run(signal) });
  for (let i = 0; i < 1000; i += 1) loop.queue.add(`k${i}`);
  await harness.settled();
  const { errors } = loop.report(5000);
  t.equal(errors.length, 256);
  t.match(errors[0], { key: 'k999', error: 'no k999' });
});

t.test('the report contains no secrets', (t) => {
  const token = `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.c-_d`;
  const rows: [given: string, shown: string][] = [
    ['pods "a" is forbidden', 'pods "a" is forbidden'],
    [`bad token ${token}!`, 'bad token [withheld]!'],
    ['Authorization: Bearer abc.def', 'Authorization: Bearer [withheld]'],
    ['GET https://user:pass@host/x failed', 'GET https://[withheld]@host/x failed'],
    ['-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY----- is bad', '[withheld] is bad'],
    ['-----BEGIN PRIVATE KEY-----\nMHc', '[withheld]'],
    ['x'.repeat(2000), `${'x'.repeat(1023)}…`],
  ];
  for (const [given, shown] of rows) t.equal(withoutSecrets(given), shown, given.slice(0, 40));
  t.end();
});

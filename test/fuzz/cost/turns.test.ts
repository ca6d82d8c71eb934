/** That no request, however large, keeps the event loop of the server for long: measured in processor time, not on the wall. */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { largestBodies } from '#test/fuzz/cost/bodies.js';
import { changesOfLarge } from '#test/fuzz/cost/changes.js';
import { costOf } from '#test/fuzz/cost/meter.js';
import { ThreadTime } from '#test/fuzz/cost/thread-time.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import { call, runServer } from '#test/integration/apiserver/server.js';

/** Longest turn of the event loop on a machine that is as fast as the one on which `referenceMs` was measured. */
const maxTurnMs = 50;
/** What the reference takes there. */
const referenceMs = 30;
/** Collecting garbage comes when it comes: the shortest of several counts, and so much more is let pass. */
const attempts = 8;
const slack = 1.3;
/** A change compares and merges maps in single steps, so that those of one are held to less than a new object. */
const changedKeys = 20_000;

t.setTimeout(300_000);

const thread = new ThreadTime();
const text = JSON.stringify(Array.from({ length: 60_000 }, (_, i) => ({ key: `k${i}`, name: 'v' })));

/** How long some work takes here that never changes: longer on a slow machine, and beside others on the same processors. */
function reference(): number {
  const before = thread.milliseconds();
  JSON.parse(text);
  return thread.milliseconds() - before;
}

t.comment(`reference ${[1, 2, 3, 4, 5].map(() => reference().toFixed(0)).join(' ')} ms`);

t.test('the largest requests take many short turns', { timeout: 300_000 }, async (t) => {
  const { server, stop } = await runServer({ dialect, dependencies: { gate: gateFor(everyCase) } });
  t.teardown(stop);
  t.teardown(() => thread.close());
  await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } });
  const requests = { ...largestBodies(dialect), ...(await changesOfLarge(server, dialect, changedKeys)) };
  for (const [name, request] of Object.entries(requests)) {
    let best = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < attempts && best > maxTurnMs; attempt++) {
      const factor = Math.max(1, reference() / referenceMs);
      const { status, turnMs, text: answer } = await costOf(server, request);
      if (status >= 500) t.fail(`${name}: ${status} ${answer}`);
      best = Math.min(best, turnMs / factor);
    }
    t.comment(`${name}: ${best.toFixed(0)} ms`);
    t.ok(best <= slack * maxTurnMs, `${name}: one turn took ${best.toFixed(0)} ms`);
  }
});

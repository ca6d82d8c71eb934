/**
 * No request, however large, may be processed in one turn of the event loop. `test/bench/turns.bench.ts` reports
 * milliseconds; this test compares the longest turn with similar work right before and after it in the same thread, in
 * processor time, which neither slow nor busy machines change. (Counting executed code would be exact, but V8's
 * counters disable its optimizer and do not see inside parsing, sorting and copying, which dominate the longest turns.)
 */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { largestRequests, referenceMs } from '#test/fuzz/cost/largest.js';
import { costOf } from '#test/fuzz/cost/meter.js';
import { ThreadTime } from '#test/fuzz/cost/thread-time.js';

/** Single turns take about half of the reference; requests without steps take all of it or more. */
const maxRatio = 0.8;
/** Other load can only lengthen a turn: the shortest measurement counts. */
const attempts = 8;

t.setTimeout(600_000);

t.test('the largest requests take many short turns', { timeout: 600_000 }, async (t) => {
  const thread = new ThreadTime();
  const { server, requests, stop } = await largestRequests(dialect);
  t.teardown(stop);
  t.teardown(() => thread.close());
  for (let warm = 0; warm < 3; warm++) referenceMs(thread);
  // The reference after a request is the one before the next.
  let before = referenceMs(thread);
  for (const [name, request] of Object.entries(requests)) {
    let best = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < attempts && best > maxRatio; attempt++) {
      const { status, turnMs, text: answer } = await costOf(server, request);
      if (status >= 500) t.fail(`${name}: ${status} ${answer}`);
      const after = referenceMs(thread);
      best = Math.min(best, turnMs / Math.max(before, after));
      before = after;
    }
    t.comment(`${name}: ${best.toFixed(2)} of the reference`);
    t.ok(best <= maxRatio, `${name}: one turn took ${best.toFixed(2)} times as long as the reference`);
  }
});

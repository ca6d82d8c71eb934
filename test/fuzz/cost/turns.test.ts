/**
 * That no request, however large, is worked on in one turn of the event loop. The milliseconds of each stand in
 * `test/bench/turns.bench.ts`; here only what no slow machine and no neighbour can change: the longest turn against work of
 * the same sort that is done right before and after it, by the same thread, in processor time. (To count what is executed
 * would be exact, but the counters of V8 turn its optimizer off and do not see inside of parsing, sorting and copying,
 * which are most of the longest turns.)
 */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { largestRequests } from '#test/fuzz/cost/largest.js';
import { costOf } from '#test/fuzz/cost/meter.js';
import { referenceMs } from '#test/fuzz/cost/reference.js';
import { ThreadTime } from '#test/fuzz/cost/thread-time.js';

/** Single turns take half of the reference at most, or little more; requests that have lost their steps, the whole of it and more. */
const maxRatio = 0.8;
/** Others can only make a turn look longer: the shortest counts. */
const attempts = 8;

t.setTimeout(600_000);

t.test('the largest requests take many short turns', { timeout: 600_000 }, async (t) => {
  const thread = new ThreadTime();
  const { server, requests, stop } = await largestRequests(dialect);
  t.teardown(stop);
  t.teardown(() => thread.close());
  for (let warm = 0; warm < 3; warm++) referenceMs(thread);
  for (const [name, request] of Object.entries(requests)) {
    let best = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < attempts && best > maxRatio; attempt++) {
      const before = referenceMs(thread);
      const { status, turnMs, text: answer } = await costOf(server, request);
      if (status >= 500) t.fail(`${name}: ${status} ${answer}`);
      best = Math.min(best, turnMs / Math.max(before, referenceMs(thread)));
    }
    t.comment(`${name}: ${best.toFixed(2)} of the reference`);
    t.ok(best <= maxRatio, `${name}: one turn took ${best.toFixed(2)} times as long as the reference`);
  }
});

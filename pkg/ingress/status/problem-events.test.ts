/** Timing of events about problems. */
import t from 'tap';
import type { Ingress } from '#api/networking/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { Problem } from '#ingress/routing/plan.js';
import { ProblemEvents } from '#ingress/status/problem-events.js';

t.test('a lasting problem is recorded once', async (t) => {
  const clock = new VirtualClock();
  const events: string[] = [];
  const problems = new ProblemEvents(clock, {
    record: (_, type, reason, message) => events.push(`${type} ${reason} ${message}`),
  });
  const ingress = { metadata: { name: 'web', namespace: 'default', uid: '1' } } as Ingress;
  const problem = (message: string): Problem => ({ ingress, reason: 'BackendNotFound', message });
  problems.update([problem('a'), problem('a'), problem('b')]);
  await clock.advance(4000);
  problems.update([problem('a')]);
  await clock.advance(2000);
  t.same(events, ['Warning BackendNotFound a'], 'a problem that ends soon is not recorded');
  problems.update([problem('a')]);
  await clock.advance(60_000);
  t.equal(events.length, 1, 'not again');
  problems.update([]);
  problems.update([problem('a')]);
  await clock.advance(6000);
  t.equal(events.length, 2, 'a problem that returns is recorded again');
  problems.update([problem('c')]);
  problems.close();
  await clock.advance(60_000);
  t.equal(events.length, 2);
});

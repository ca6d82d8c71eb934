import t from 'tap';
import { EventCorrelator } from '#client/events/correlator.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

t.test('different messages are combined for ten minutes, independent of the wall clock', async (t) => {
  const clock = new VirtualClock();
  const correlator = new EventCorrelator(clock);
  const involvedObject = { kind: 'Pod', namespace: 'default', name: 'p' };
  let number = 0;
  const isCombined = () => {
    const message = `message ${number++}`;
    return correlator.correlate({ involvedObject, type: 'Normal', reason: 'Same', message }).series.message !== message;
  };
  for (let count = 0; count < 9; count++) t.notOk(isCombined());
  t.ok(isCombined());
  clock.setWallClock(86_400_000);
  t.ok(isCombined(), 'with the wall clock set forward');
  clock.setWallClock(-2 * 86_400_000);
  await clock.advance(600_001);
  t.notOk(isCombined(), 'with the wall clock set back');
});

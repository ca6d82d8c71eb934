import t from 'tap';
import { aborted } from '#apimachinery/async/abort.js';
import { Lifetime } from '#daemon/lifetime.js';

t.test('work runs until close', async (t) => {
  const life = new Lifetime('the work');
  let ended = false;
  const running = life.run(new AbortController().signal, async (signal) => {
    life.becameReady();
    await aborted(signal);
    ended = true;
  });
  await life.ready();
  t.notOk(life.isStopping);
  await life.close();
  t.ok(ended && life.isStopping);
  await running;
  await life.close();
});

t.test('work ends with the signal of start, even an aborted one, and is never ready then', async (t) => {
  for (const isEarly of [true, false]) {
    const life = new Lifetime('the work');
    const stop = new AbortController();
    if (isEarly) stop.abort();
    const running = life.run(stop.signal, (signal) => aborted(signal));
    stop.abort();
    await running;
    await t.rejects(life.ready(), { message: 'the work was stopped before it was ready' });
  }
});

t.test('an error of the work reaches the callers of run and close', async (t) => {
  const life = new Lifetime('the work');
  const failing = async () => {
    throw new Error('broken');
  };
  await t.rejects(life.run(new AbortController().signal, failing), { message: 'broken' });
  await t.rejects(life.close(), { message: 'broken' });
  await new Lifetime('none').close();
});

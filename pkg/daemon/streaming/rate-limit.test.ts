import { once } from 'node:events';
import t from 'tap';
import { rateLimit } from '#daemon/streaming/rate-limit.js';

/** A clock whose timers fire when the test advances it. */
class TestClock {
  ms = 0;
  #due: { at: number; fn: () => void }[] = [];

  monotonic(): number {
    return this.ms;
  }

  setTimer(fn: () => void, ms: number) {
    const entry = { at: this.ms + ms, fn };
    this.#due.push(entry);
    return { cancel: () => this.#due.splice(this.#due.indexOf(entry), 1) };
  }

  get timers(): number {
    return this.#due.length;
  }

  async advance(ms: number): Promise<void> {
    const end = this.ms + ms;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#due.sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#due.shift();
      this.ms = Math.max(this.ms, next.at);
      next.fn();
    }
    this.ms = end;
  }
}

t.test('bytes pass at the rate, in order, and none is lost', async (t) => {
  const clock = new TestClock();
  const limit = rateLimit(clock, 1000);
  const text = Array.from({ length: 300 }, (_, i) => String.fromCharCode(97 + (i % 26)).repeat(10)).join('');
  let received = '';
  limit.on('data', (chunk: Buffer) => {
    received += chunk.toString();
  });
  limit.write(text.slice(0, 1500));
  limit.end(text.slice(1500));
  await clock.advance(0);
  t.equal(received.length, 100, 'a tenth of a second at once');
  for (let second = 1; second <= 2; second += 1) {
    await clock.advance(1000);
    t.ok(received.length >= second * 1000 && received.length <= second * 1000 + 100, `after ${second} s`);
  }
  const end = once(limit, 'end');
  await clock.advance(1000);
  await end;
  t.equal(received, text);
});

t.test('the source waits, and a pause is not made up for', async (t) => {
  const clock = new TestClock();
  const limit = rateLimit(clock, 1000);
  limit.resume();
  t.equal(limit.write(Buffer.alloc(5000)), false, 'the source must wait');
  await clock.advance(10_000);
  let received = 0;
  limit.on('data', (chunk: Buffer) => {
    received += chunk.length;
  });
  limit.write(Buffer.alloc(5000));
  await clock.advance(0);
  t.equal(received, 100);
});

t.test('a limit that is destroyed has no timer left', async (t) => {
  const clock = new TestClock();
  const limit = rateLimit(clock, 1);
  limit.resume();
  limit.write('abc');
  await clock.advance(0);
  t.equal(clock.timers, 1);
  limit.destroy();
  await once(limit, 'close');
  t.equal(clock.timers, 0);
});

import { PassThrough } from 'node:stream';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { Bodies } from '#http/server/bodies.js';

/** Time passes when the test says so. */
function heldClock() {
  const due: (() => void)[] = [];
  const setTimer = (fn: () => void) => {
    due.push(fn);
    return { cancel: () => undefined };
  };
  const period = () => {
    for (const fn of due.splice(0)) fn();
  };
  return { clock: { ...realClock, setTimer }, period, timers: () => due.length };
}

interface ReadingOptions {
  readonly length?: number;
  readonly maxBytes?: number;
  readonly room?: number;
}

function reading({ length, maxBytes = 10, room = Number.POSITIVE_INFINITY }: ReadingOptions = {}) {
  const source = new PassThrough();
  const { clock, period, timers } = heldClock();
  const bodies = new Bodies({ clock, maxBytes, periodMs: 10, limitMs: 50 });
  let refusals = 0;
  let held = 0;
  const hold = (bytes: number) => {
    held += bytes;
    return held <= room;
  };
  const body = bodies.read({ source, length }, { hold }, () => {
    refusals += 1;
  });
  return { source, body, bodies, period, timers, refusals: () => refusals, held: () => held };
}

const failureOf = (body: Promise<unknown>) => body.then(() => undefined, statusOf);
const turn = () => new Promise(setImmediate);

t.test('a body is read completely, in any number of parts', async (t) => {
  for (const parts of [[], ['abc'], ['a', 'bcdef', 'ghij']]) {
    const { source, body, refusals, held } = reading();
    for (const part of parts) source.write(part);
    source.end();
    t.equal(String(await body), parts.join(''), parts.join());
    t.equal(held(), parts.join('').length, 'all bytes are counted');
    t.equal(refusals(), 0);
  }
});

t.test('an oversized body is refused once, when announced or when it arrives', async (t) => {
  const announced = reading({ length: 11 });
  await t.rejects(announced.body, { message: /limit is 10/ });
  t.equal(announced.refusals(), 1);
  const { source, body, refusals } = reading();
  for (const part of ['abcdef', 'ghijk', 'l']) source.write(part);
  source.end();
  await t.rejects(body, { message: /limit is 10/ });
  source.resume();
  await turn();
  t.equal(refusals(), 1);
});

t.test('an incomplete body is a bad request', async (t) => {
  const { source, body, bodies } = reading({ length: 3 });
  source.write('ab');
  source.destroy();
  await t.rejects(body, { message: /broken off/ });
  const gone = new PassThrough();
  gone.destroy();
  await t.rejects(
    bodies.read({ source: gone, length: undefined }, { hold: () => true }, () => undefined),
    { message: /broken off/ },
  );
});

t.test('a body whose user holds too much is refused', async (t) => {
  const { source, body, refusals } = reading({ room: 5 });
  source.write('abc');
  source.write('def');
  t.match(await failureOf(body), { code: 429, reason: 'TooManyRequests' });
  t.equal(refusals(), 1);
});

t.test('a body that stops on its way is refused', async (t) => {
  const { source, body, period, refusals, timers } = reading({ maxBytes: 100_000 });
  source.write(Buffer.alloc(500));
  await turn();
  period();
  t.equal(refusals(), 0, 'its first period was not a whole one');
  source.write(Buffer.alloc(1000));
  await turn();
  period();
  t.equal(refusals(), 0, 'enough has arrived');
  source.write(Buffer.alloc(999));
  await turn();
  period();
  t.match(await failureOf(body), { code: 408, reason: 'Timeout', message: /arrives too slowly/ });
  t.equal(refusals(), 1);
  t.equal(timers(), 0, 'nothing is checked any more');
});

t.test('a body that never ends is refused', async (t) => {
  const { source, body, period, refusals } = reading({ maxBytes: 100_000 });
  for (let i = 0; i < 5; i++) {
    source.write(Buffer.alloc(2000));
    await turn();
    period();
    t.equal(refusals(), 0, `period ${i}`);
  }
  source.write(Buffer.alloc(2000));
  await turn();
  period();
  t.match(await failureOf(body), { code: 408 });
});

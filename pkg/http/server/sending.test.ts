import { test } from 'tap';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { realClock } from '#apimachinery/clock.js';
import { type BodySink, IterableBody, SourceBody } from '#http/server/body.js';
import type { Exchange, ExchangeListener } from '#http/server/exchange.js';
import { Sending } from '#http/server/sending.js';
import { ServerRequest, Shares } from '#http/server/server-request.js';

/** A body whose parts come from the test. */
class GivenBody extends SourceBody {
  sink: BodySink | undefined;
  resumed = 0;
  stopped = 0;

  start(sink: BodySink): void {
    this.sink = sink;
  }

  resume(): void {
    this.resumed++;
  }

  stop(): void {
    this.stopped++;
  }
}

/** A client with room for this many parts. */
class Client implements Exchange {
  readonly gone = new LazyAbort();
  readonly request = new ServerRequest({
    method: 'GET',
    url: '/',
    headers: {},
    rawHeaders: [],
    peer: { address: '', certificate: undefined },
    gone: this.gone,
    shares: { requests: new Shares(1), bodyBytes: new Shares(1) },
    readBody: undefined,
    openBody: undefined,
  });
  destroyed = false;
  headersSent = true;
  needsLength = false;
  listener: ExchangeListener | undefined;
  readonly got: string[] = [];
  ended = false;
  room: number;

  constructor(room: number) {
    this.room = room;
  }

  head(): void {}

  flush(): void {}

  write(bytes: Buffer): boolean {
    this.got.push(bytes.toString());
    this.room--;
    return this.room > 0;
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {
    this.destroyed = true;
    this.listener?.closed();
  }
}

function given(room: number, stallMs = 60_000) {
  const client = new Client(room);
  const body = new GivenBody();
  const over = new Sending(client, { clock: realClock, stallMs, limitMs: 60_000 }).pass(body);
  return { client, body, over };
}

const part = (text: string) => Buffer.from(text);

test('parts are sent while there is room, then the end', async (t) => {
  const { client, body, over } = given(2);
  t.equal(body.sink?.part(part('a')), true);
  client.listener?.drained();
  t.equal(body.resumed, 0, 'the body does not wait');
  t.equal(body.sink?.part(part('b')), false);
  client.room = 2;
  client.listener?.drained();
  t.equal(body.resumed, 1);
  t.equal(body.sink?.part(part('c')), true);
  body.sink?.ended();
  await over;
  t.same(client.got, ['a', 'b', 'c']);
  t.ok(client.ended);
  t.equal(client.listener, undefined);
  t.equal(body.stopped, 0);
});

test('a body that breaks off rejects with its error', async (t) => {
  const { client, body, over } = given(2);
  body.sink?.ended({ error: new Error('broken') });
  await t.rejects(over, { message: 'broken' });
  t.notOk(client.ended);
});

test('a disconnect before or during a body stops the body', async (t) => {
  const { client, body, over } = given(2);
  client.listener?.closed();
  await t.rejects(over, { message: 'connection closed' });
  t.equal(body.stopped, 1);
  t.equal(body.sink?.part(part('late')), false);
  body.sink?.ended();
  t.same(client.got, []);

  const gone = new Client(1);
  gone.destroyed = true;
  const unread = new GivenBody();
  await t.rejects(new Sending(gone, { clock: realClock, stallMs: 1, limitMs: 60_000 }).pass(unread), {
    message: 'connection closed',
  });
  t.equal(unread.sink, undefined);
  t.equal(unread.stopped, 1);
});

test('a client that does not read is cut off', async (t) => {
  const { client, body, over } = given(1, 1);
  body.sink?.part(part('a'));
  // The timer does not keep a process alive.
  const alive = setInterval(() => undefined, 1000);
  await t.rejects(over, { name: 'ConnectionLostError' });
  clearInterval(alive);
  t.ok(client.destroyed);
  t.equal(body.stopped, 1);
});

test('a reader in this process pulls one part at a time', async (t) => {
  const body = new GivenBody();
  const iterator = body[Symbol.asyncIterator]();
  const first = iterator.next();
  t.equal(body.sink?.part(part('a')), false);
  t.equal(String((await first).value), 'a');
  t.equal(body.resumed, 0);
  const second = iterator.next();
  t.equal(body.resumed, 1);
  body.sink?.ended({ error: new Error('broken') });
  await t.rejects(second, { message: 'broken' });

  const left = new GivenBody();
  const leaving = left[Symbol.asyncIterator]();
  const waiting = leaving.next();
  await leaving.return?.();
  t.equal((await waiting).done, true, 'a pending read ends, too');
  t.equal(left.stopped, 1);
});

test('an iterable is asked for its next item after the previous one was taken', async (t) => {
  const calls: string[] = [];
  const items = async function* () {
    try {
      for (const text of ['a', '', 'b', 'c']) {
        calls.push(text);
        yield part(text);
      }
    } finally {
      calls.push('left');
    }
  };
  const client = new Client(1);
  const body = new IterableBody(items());
  const heard: string[] = [];
  body.follow({ part: (bytes) => heard.push(String(bytes)), ended: () => heard.push('ended') });
  const over = new Sending(client, { clock: realClock, stallMs: 60_000, limitMs: 60_000 }).pass(body);
  await new Promise(setImmediate);
  t.same([client.got, calls], [['a'], ['a']]);
  client.room = 3;
  client.listener?.drained();
  await over;
  t.same(client.got, ['a', 'b', 'c']);
  t.same(calls, ['a', '', 'b', 'c', 'left']);
  t.same(heard, ['a', 'b', 'c', 'ended']);

  const failing = new IterableBody(
    (async function* () {
      yield part('a');
      throw new Error('broken');
    })(),
  );
  const broken = new Sending(new Client(2), { clock: realClock, stallMs: 60_000, limitMs: 60_000 }).pass(failing);
  await t.rejects(broken, { message: 'broken' });
});

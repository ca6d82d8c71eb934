import { test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import type { AnswerListener, AnswerTarget, Piece } from '#http/server/answer-target.js';
import { PlainPiece } from '#http/server/piece.js';
import { passOn } from '#http/server/pushed-answer.js';
import { type BodySink, PushedBody } from '#http/server/pushed-body.js';

/** A body whose parts the test gives. */
class GivenBody extends PushedBody {
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

/** A client that has room for so many parts. */
class Client implements AnswerTarget {
  destroyed = false;
  headersSent = true;
  needsLength = false;
  listener: AnswerListener | undefined;
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

  piece(buffer: Buffer): Piece {
    return new PlainPiece(buffer, this);
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
  const over = passOn(client, body, { clock: realClock, stallMs });
  return { client, body, over };
}

const part = (text: string) => Buffer.from(text);

test('parts are passed on as long as there is room, and the end', async (t) => {
  const { client, body, over } = given(2);
  t.equal(body.sink?.part(part('a')), true);
  client.listener?.drained();
  t.equal(body.resumed, 0, 'nobody waits');
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

test('a body that breaks off', async (t) => {
  const { client, body, over } = given(2);
  body.sink?.ended({ error: new Error('broken') });
  await t.rejects(over, { message: 'broken' });
  t.notOk(client.ended);
});

test('a client that goes, before or after', async (t) => {
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
  await t.rejects(passOn(gone, unread, { clock: realClock, stallMs: 1 }), { message: 'connection closed' });
  t.equal(unread.sink, undefined);
  t.equal(unread.stopped, 1);
});

test('a client that does not read is cut off', async (t) => {
  const { client, body, over } = given(1, 1);
  body.sink?.part(part('a'));
  // The timer of its patience keeps no process alive.
  const alive = setInterval(() => undefined, 1000);
  await t.rejects(over, { name: 'ConnectionLostError' });
  clearInterval(alive);
  t.ok(client.destroyed);
  t.equal(body.stopped, 1);
});

test('a reader in this process asks for one part after the other', async (t) => {
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
  t.equal((await waiting).done, true, 'also in the middle of a wait');
  t.equal(left.stopped, 1);
});

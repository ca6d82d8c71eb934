import { once } from 'node:events';
import { createServer, get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import t from 'tap';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { realClock } from '#apimachinery/clock.js';
import { ResponseHeads } from '#http/http2/response-heads.js';
import { ServerSession } from '#http/http2/server-session.js';
import { Bodies } from '#http/server/bodies.js';
import { type BodyPart, behind, IterableBody, PartsBody, SeparatedParts } from '#http/server/body.js';
import { ByteBudget } from '#http/server/byte-budget.js';
import type { Connection } from '#http/server/connections.js';
import type { Exchange, HttpResponse } from '#http/server/exchange.js';
import { Chunks, Http1Exchange } from '#http/server/http1-exchange.js';
import { Http2Exchange } from '#http/server/http2-exchange.js';
import { ResponseWriter } from '#http/server/response-writer.js';
import { Shares } from '#http/server/server-request.js';

const host = '127.0.0.1';
const incoming = {
  shares: { requests: new Shares(1), bodyBytes: new Shares(1) },
  bodies: new Bodies({ clock: realClock, maxBytes: 0, periodMs: 1000, limitMs: 1000 }),
};
const options = {
  ...incoming,
  clock: realClock,
  peer: { address: host, certificate: undefined },
  chunks: new Chunks(),
  maxBodyBytes: 0,
  lingerMs: 0,
  closed: () => undefined,
};
const items = Array.from({ length: 3000 }, (_, i) => Buffer.from(`"${String(i).padStart(200, '.')}"`));
/** Bytes in several pieces. */
class Scattered implements BodyPart {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#bytes.length;
  }

  copy(target: Buffer, at: number, from = 0): number {
    return this.#bytes.copy(target, at, from);
  }
}

const listOf = (all: readonly BodyPart[], skipped = 0) =>
  new SeparatedParts({
    head: Buffer.from('['),
    count: all.length,
    itemAt: (index) => all[index] as BodyPart,
    skipped,
    separator: Buffer.from(','),
    tail: Buffer.from(']'),
  });
const list = listOf(items);
/** Sizes around those of frames and pieces, in one buffer and in several. */
const sizes = [
  1, 2, 5, 100, 16_383, 16_384, 16_385, 30_000, 65_535, 65_536, 131_072, 140_000, 2, 600_000, 8000, 16_000,
];
const mixedItems: readonly BodyPart[] = sizes.flatMap((size, i) => {
  const bytes = Buffer.alloc(size, `${i}.`);
  return [bytes, size < 65_536 ? new Scattered(bytes) : bytes];
});
const mixedList = listOf(mixedItems, 1);
const mixedText = `[${mixedItems.map((item) => behind(item, 1).toString()).join(',')}]`;
const text = `[${items.map(String).join(',')}]`;
const longItems = Array.from({ length: 7 }, () => items).flat();
const longList = listOf(longItems);
const longText = `[${longItems.map(String).join(',')}]`;

const bodies: Record<string, () => HttpResponse['body']> = {
  'separated parts': () => new PartsBody(list, { length: text.length }),
  'separated parts of a long list': () => new PartsBody(longList, { length: longText.length }),
  'separated parts of a mixed list': () => new PartsBody(mixedList, { length: mixedText.length }),
  'separated parts of a large mixed list': () => new PartsBody(mixedList, { isLarge: true }),
  'separated parts of a large list whose length is not computed': () => new PartsBody(list, { isLarge: true }),
  'parts of unknown length': () => new PartsBody([...list]),
  'parts made as they are written': () =>
    new IterableBody(
      (async function* () {
        yield* list;
      })(),
      { held: 1000 },
    ),
  'parts larger than a piece': () =>
    new PartsBody([Buffer.from(text.slice(0, 300_000)), Buffer.from(text.slice(300_000))]),
  'one buffer': () => Buffer.from(text),
};

function writer() {
  const budget = new ByteBudget({ clock: realClock, bytes: 16 * 2 ** 20, maxWaiting: 1, maxWaitMs: 1000 });
  return {
    budget,
    writer: new ResponseWriter({
      clock: realClock,
      turns: new TurnQueue({ clock: realClock, defer: setImmediate }),
      budget,
      stallMs: 10_000,
      limitMs: 10_000,
    }),
  };
}

/** One field each: their values may contain commas. */
const cookies = ['a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT', 'b=2'];

/** Outcome of each response, in order. */
function answering(body: () => HttpResponse['body']) {
  const { budget, writer: responses } = writer();
  const outcomes: Promise<void>[] = [];
  /** Bytes that each body's listener observed until its end. */
  const heard: number[] = [];
  const answer = (target: Exchange) => {
    const responseBody = body();
    const response = { status: 200, headers: { 'content-type': 'application/json' }, cookies, body: responseBody };
    if (responseBody !== undefined && !Buffer.isBuffer(responseBody)) {
      let bytes = 0;
      const part = (piece: Buffer) => {
        bytes += piece.length;
      };
      responseBody.follow({ part, ended: () => heard.push(bytes) });
    }
    outcomes.push(Promise.resolve(responses.write(target, response, false, new LazyAbort())));
  };
  return { budget, outcomes, heard, answer };
}

function serveHttp2(socket: Socket, answer: (target: Exchange) => void): Connection {
  const peer = { address: host, certificate: undefined };
  const connection: Connection = { peer, open: 0, served: 0, waiting: [] };
  new ServerSession({
    socket,
    clock: realClock,
    maxStreams: 10,
    maxHeaderBytes: 1000,
    streamWindowBytes: 1000,
    sessionWindowBytes: 100_000,
    handler: {
      request(stream, head) {
        const heads = new ResponseHeads(() => 0);
        const exchange = new Http2Exchange(stream, head, { ...incoming, connection, heads, maxBodyBytes: 0 });
        stream.handler = exchange;
        answer(exchange);
      },
      closed() {},
    },
  });
  return connection;
}

for (const [name, body] of Object.entries(bodies)) {
  t.test(`${name} arrive complete, and their end is not reported as a loss`, async (t) => {
    const { budget, outcomes, heard, answer } = answering(body);
    const http1 = createServer((request, response) =>
      answer(new Http1Exchange(request, response, false, options)),
    ).listen(0, host);
    const http2 = createTcpServer((socket) => serveHttp2(socket, answer)).listen(0, host);
    await Promise.all([once(http1, 'listening'), once(http2, 'listening')]);
    const origin = `http://${host}:${(http2.address() as AddressInfo).port}`;
    // Many writes are small, because of small windows; others have many frames.
    const sessions = [connect(origin), connect(origin, { settings: { initialWindowSize: 300_000 } })];
    sessions[1]?.once('connect', () => sessions[1]?.setLocalWindowSize(500_000));
    t.teardown(() => {
      for (const session of sessions) session.destroy();
      http1.close();
      http2.close();
    });

    const expected = name.endsWith('mixed list') ? mixedText : name.endsWith('long list') ? longText : text;
    for (const session of sessions) {
      const [incoming] = (await once(get({ host, port: (http1.address() as AddressInfo).port }), 'response')) as [
        IncomingMessage,
      ];
      t.ok(Buffer.concat(await incoming.toArray()).equals(Buffer.from(expected)));
      t.same(incoming.headers['set-cookie'], cookies);
      const stream = session.request({ ':path': '/' });
      const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
      t.same(headers['set-cookie'], cookies);
      t.ok(Buffer.concat(await stream.toArray()).equals(Buffer.from(expected)));
    }
    t.same(
      (await Promise.allSettled(outcomes)).map(({ status }) => status),
      Array(4).fill('fulfilled'),
    );
    t.equal(budget.used, 0);
    if (name !== 'one buffer') t.same(heard, Array(4).fill(expected.length));
  });
}

t.test('a response takes the memory of its own budget; without any, it is refused and its body ends', async (t) => {
  const { budget, writer: responses } = writer();
  const own = new ByteBudget({ clock: realClock, bytes: 10, maxWaiting: 0, maxWaitMs: 1 });
  const give = await own.take(10, new LazyAbort());
  for (const name of ['parts of unknown length', 'parts made as they are written', 'one buffer']) {
    const body = bodies[name]?.();
    let ends = 0;
    if (body !== undefined && !Buffer.isBuffer(body)) body.onEnd(() => ends++);
    const response = { status: 200, headers: {}, body, budget: own };
    const written = async () => responses.write({} as Exchange, response, false, new LazyAbort());
    await t.rejects(written(), { message: /as much as its memory allows/ }, `${name}: refused`);
    t.equal(ends, Buffer.isBuffer(body) ? 0 : 1, `${name}: over`);
  }
  t.equal(budget.used, 0, 'the memory of the server is not touched');
  give();
});

t.test('an HTTP/2 response ends once, even if it is broken off after its end', async (t) => {
  const open: number[] = [];
  const server = createTcpServer((socket) => {
    const connection = serveHttp2(socket, (target) => {
      target.head(200, {});
      target.end(Buffer.from('all'));
      target.destroy();
      open.push(connection.open);
    });
  }).listen(0, host);
  await once(server, 'listening');
  const session = connect(`http://${host}:${(server.address() as AddressInfo).port}`);
  t.teardown(() => {
    session.destroy();
    server.close();
  });
  for (let i = 0; i < 2; i++) t.equal(Buffer.concat(await session.request().toArray()).toString(), 'all');
  t.same(open, [0, 0]);
});

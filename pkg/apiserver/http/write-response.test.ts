import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { realClock } from '#apimachinery/clock.js';
import { ByteBudget } from '#apiserver/http/byte-budget.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { LazyAbort } from '#apiserver/http/lazy-abort.js';
import { PartsBody, SeparatedParts } from '#apiserver/http/parts-body.js';
import { ResponseWriter, type Target } from '#apiserver/http/write-response.js';

const host = '127.0.0.1';
const items = Array.from({ length: 3000 }, (_, i) => Buffer.from(`"${String(i).padStart(200, '.')}"`));
const list = new SeparatedParts(Buffer.from('['), items, Buffer.from(','), Buffer.from(']'));
const text = `[${items.map(String).join(',')}]`;

const bodies: Record<string, () => ApiResponse['body']> = {
  'separated parts': () => new PartsBody(list, { length: text.length }),
  'parts of unknown length': () => new PartsBody([...list]),
  'parts made as they are written': () =>
    new PartsBody(
      (async function* () {
        yield* list;
      })(),
    ),
  'parts larger than a piece': () =>
    new PartsBody([Buffer.from(text.slice(0, 300_000)), Buffer.from(text.slice(300_000))]),
  'one buffer': () => Buffer.from(text),
};

function writer() {
  const budget = new ByteBudget({ clock: realClock, bytes: 2 ** 20, maxWaiting: 1, maxWaitMs: 1000 });
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

/** What became of the answer to each request, in their order. */
function answering(body: () => ApiResponse['body']) {
  const { budget, writer: responses } = writer();
  const outcomes: Promise<void>[] = [];
  const answer = (_: unknown, target: Target) => {
    const response = { status: 200, headers: { 'content-type': 'application/json' }, body: body() };
    outcomes.push(Promise.resolve(responses.write(target, response, false, new LazyAbort())));
  };
  return { budget, outcomes, answer };
}

for (const [name, body] of Object.entries(bodies)) {
  t.test(`${name} arrive whole, and their end is no loss of the connection`, async (t) => {
    const { budget, outcomes, answer } = answering(body);
    const http1 = createServer(answer).listen(0, host);
    const http2 = createHttp2Server(answer).listen(0, host);
    await Promise.all([once(http1, 'listening'), once(http2, 'listening')]);
    const session = connect(`http://${host}:${(http2.address() as AddressInfo).port}`);
    t.teardown(() => {
      session.destroy();
      http1.close();
      http2.close();
    });

    for (let i = 0; i < 2; i++) {
      const [incoming] = (await once(get({ host, port: (http1.address() as AddressInfo).port }), 'response')) as [
        IncomingMessage,
      ];
      t.equal(Buffer.concat(await incoming.toArray()).toString(), text);
      const stream = session.request({ ':path': '/' });
      t.equal(Buffer.concat(await stream.toArray()).toString(), text);
    }
    t.same(
      (await Promise.allSettled(outcomes)).map(({ status }) => status),
      Array(4).fill('fulfilled'),
    );
    t.equal(budget.used, 0);
  });
}

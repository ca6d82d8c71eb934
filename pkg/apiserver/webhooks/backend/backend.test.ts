import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { WebhookBackend, type WebhookBackendOptions } from '#apiserver/webhooks/backend/backend.js';
import { sendJson, startWebhook } from '#apiserver/webhooks/testing/webhook-server.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import type { Transport, TransportRequest, TransportResponse } from '#client/rest/transport.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { FileTls } from '#http/client/credentials.js';
import { TransportError } from '#http/client/transport-error.js';

type Reply = { readonly status: number; readonly body?: string; readonly retryAfter?: string } | Error | 'silence';

/** Answers with one reply after the other; the last one repeats. */
class ScriptedTransport implements Transport {
  readonly requests: TransportRequest[] = [];
  /** Monotonic times of the requests. */
  readonly times: number[] = [];
  readonly #replies: readonly Reply[];
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock, replies: readonly Reply[]) {
    this.#clock = clock;
    this.#replies = replies;
  }

  request(request: TransportRequest): Promise<TransportResponse> {
    const reply = this.#replies[Math.min(this.requests.length, this.#replies.length - 1)];
    this.requests.push(request);
    this.times.push(this.#clock.monotonic());
    if (reply instanceof Error) return Promise.reject(reply);
    if (reply === undefined || reply === 'silence') {
      return new Promise((_, reject) => {
        request.signal?.addEventListener('abort', () => reject(new TransportError('Aborted', 'aborted')));
      });
    }
    const { status, body = '', retryAfter } = reply;
    return Promise.resolve({ status, headers: { 'retry-after': retryAfter }, body: chunksOf(body) });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

async function* chunksOf(body: string): AsyncGenerator<Buffer> {
  yield Buffer.from(body);
}

function setUp(replies: readonly Reply[], options: Partial<WebhookBackendOptions> = {}) {
  const clock = new VirtualClock();
  const transport = new ScriptedTransport(clock, replies);
  const url = new URL('https://hooks.test:8443/review');
  return { clock, transport, backend: new WebhookBackend({ transport, url, clock, random: () => 0.5, ...options }) };
}

/** The message of the rejection, once the virtual time has passed. */
async function failureOf(clock: VirtualClock, call: Promise<unknown>): Promise<string> {
  let message = 'none';
  const done = call.catch((error: Error) => {
    message = error.message;
  });
  for (let i = 0; i < 40; i += 1) await clock.advance(5000);
  await done;
  return message;
}

t.test('failures that pass are tried five times, with growing pauses', async (t) => {
  const { clock, transport, backend } = setUp([{ status: 500, body: 'down' }]);
  t.equal(
    await failureOf(clock, backend.ask('{}')),
    'an error on the server ("down") has prevented the request from succeeding',
  );
  const pauses = transport.times.slice(1).map((at, i) => at - (transport.times[i] ?? 0));
  t.same(pauses, [550, 825, 1237.5, 1856.25], 'the jitter is a tenth of the pause here');
  t.match(transport.requests[0], { method: 'POST', path: '?timeout=30s', body: '{}' });
});

t.test('which failures are tried again', async (t) => {
  const rows: readonly (readonly [name: string, reply: Reply, attempts: number, message: string])[] = [
    [
      'too many requests',
      { status: 429 },
      5,
      'the server has received too many requests and has asked us to try again later',
    ],
    [
      'a gateway timeout',
      { status: 504 },
      5,
      'the server was unable to return a response in the time allotted, but may still be processing the request',
    ],
    [
      'a broken connection',
      new TransportError('ConnectionReset', 'x', { cause: Object.assign(new Error('y'), { code: 'ECONNRESET' }) }),
      5,
      'Post "https://hooks.test:8443/review?timeout=30s": EOF',
    ],
    [
      'an unavailable server that names a pause',
      { status: 503, retryAfter: '1' },
      5,
      'the server is currently unable to handle the request',
    ],
    ['an unavailable server', { status: 503 }, 1, 'the server is currently unable to handle the request'],
    ['missing credentials', { status: 401 }, 1, 'the server has asked for the client to provide credentials'],
    ['a Status', { status: 403, body: '{"kind":"Status","message":"not you"}' }, 1, 'not you'],
    [
      'a refused connection',
      new TransportError('ConnectionRefused', 'x', { cause: Object.assign(new Error('y'), { code: 'ECONNREFUSED' }) }),
      1,
      'Post "https://hooks.test:8443/review?timeout=30s": dial tcp hooks.test:8443: connect: connection refused',
    ],
    ['an empty answer', { status: 200 }, 1, '0-length response with status code: 200 and content type: '],
    ['an answer that is not JSON', { status: 200, body: '<html>' }, 1, 'the answer cannot be read: '],
    ['a long answer', { status: 200, body: ' '.repeat(2 ** 20 + 1) }, 1, 'the answer is longer than 1048576 bytes'],
    [
      'silence',
      'silence',
      1,
      'Post "https://hooks.test:8443/review?timeout=30s": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    ],
  ];
  for (const [name, reply, attempts, message] of rows) {
    const { clock, transport, backend } = setUp([reply]);
    const failure = await failureOf(clock, backend.ask('{}'));
    t.ok(failure.startsWith(message), `${name}: ${failure}`);
    t.equal(transport.requests.length, attempts, `attempts after ${name}`);
  }
});

t.test('a later attempt can succeed', async (t) => {
  const { clock, backend } = setUp([{ status: 500 }, { status: 201, body: '{"kind":"TokenReview"}' }]);
  const answer = backend.ask('{}');
  await clock.advance(600);
  t.same(await answer, { kind: 'TokenReview' });
});

t.test('where every failure is tried again, and the answer is ignored', async (t) => {
  const { clock, transport, backend } = setUp([{ status: 401 }, { status: 200, body: 'x'.repeat(2 ** 21) }], {
    retriesAll: true,
    initialBackoffMs: 1,
  });
  const sent = backend.send('{}');
  await clock.advance(2);
  await sent;
  t.equal(transport.requests.length, 2);
});

t.test('the time of all attempts together is limited', async (t) => {
  const { clock, transport, backend } = setUp([{ status: 500, retryAfter: '20' }], { totalMs: 30_000 });
  t.match(await failureOf(clock, backend.ask('{}')), /^an error on the server/);
  t.same(transport.times, [0, 20_000]);
});

t.test('the number of concurrent calls is limited', async (t) => {
  const { clock, backend } = setUp(['silence'], { maxCalls: 1 });
  const first = backend.ask('{}').catch((error: Error) => error.message);
  t.match(await failureOf(clock, backend.ask('{}')), /1 calls of the webhook .* are under way already/);
  t.match(await first, /deadline exceeded/);
});

t.test('closing ends calls and their retries', async (t) => {
  const { backend } = setUp(['silence'], { retriesAll: true });
  const call = t.rejects(backend.ask('{}'), { name: 'WebhookCallError' });
  await backend.close();
  await call;
});

t.test('requests go to exactly the path of the address', async (t) => {
  const seen: (string | undefined)[] = [];
  const server = await startWebhook(t, (_body, response, { url }) => {
    seen.push(url);
    sendJson(response, { ok: true });
  });
  const ca = Buffer.from(server.caBundle, 'base64').toString();
  for (const path of ['', '/', '/review', '/a/b/?x=y']) {
    const address = `https://127.0.0.1:${server.port}${path}`;
    const tls = new FileTls({
      inline: { ca },
      files: {},
      clock: realClock,
      readFile: () => Promise.reject(new Error()),
    });
    const transport = new HttpTransport({ server: address, tls, clock: realClock });
    const backend = new WebhookBackend({ transport, url: new URL(address), clock: realClock, random: Math.random });
    t.same(await backend.ask('{}'), { ok: true });
    await backend.close();
  }
  t.same(seen, ['/?timeout=30s', '/?timeout=30s', '/review?timeout=30s', '/a/b?timeout=30s']);
});

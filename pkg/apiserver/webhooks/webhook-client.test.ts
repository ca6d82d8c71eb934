import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { ServiceUnreachableError } from '#apiserver/service-routing/service-resolver.js';
import { type CallFailure, WebhookCallError } from '#apiserver/webhooks/call-error.js';
import { sharedLookup } from '#apiserver/webhooks/shared-lookup.js';
import { type Answer, sendJson, startWebhook, type WebhookServer } from '#apiserver/webhooks/testing/webhook-server.js';
import { type WebhookCall, WebhookClient, type WebhookClientOptions } from '#apiserver/webhooks/webhook-client.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

const body = Buffer.from('{"a":1}');
const patientMs = 20_000;

function makeClient(t: Test, more: Partial<WebhookClientOptions> = {}): WebhookClient {
  const client = new WebhookClient({
    clock: realClock,
    resolve: () => Promise.reject(new ServiceUnreachableError('no services')),
    lookup: sharedLookup((name) => lookup(name, { all: true })),
    userAgent: 'test-admission',
    maxCalls: 100,
    ...more,
  });
  t.teardown(() => client.close());
  return client;
}

async function pair(t: Test, answer: Answer): Promise<{ server: WebhookServer; post: Post; client: WebhookClient }> {
  const server = await startWebhook(t, answer);
  const client = makeClient(t);
  const config = { url: `https://127.0.0.1:${server.port}/check`, caBundle: server.caBundle };
  return { server, client, post: (more = {}) => client.post({ config, body, timeoutMs: patientMs, ...more }) };
}

type Post = (more?: Partial<WebhookCall>) => Promise<unknown>;

async function failureOf(promise: Promise<unknown>): Promise<{ failure: CallFailure; message: string; code: number }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof WebhookCallError) return { failure: error.failure, message: error.message, code: error.code };
    throw error;
  }
  throw new Error('it answered');
}

t.test('keeps the connection for the next call', async (t) => {
  const seen: unknown[] = [];
  const { server, post } = await pair(t, (text, response, { method, url, headers }) => {
    const { host, 'content-type': type, 'user-agent': agent } = headers;
    seen.push([method, url, host, type, agent, text]);
    sendJson(response, { ok: true });
  });
  t.same(await post(), { ok: true });
  t.same(await post({ timeoutMs: 1500 }), { ok: true });
  const same = [`127.0.0.1:${server.port}`, 'application/json', 'test-admission', '{"a":1}'];
  t.same(seen, [
    ['POST', '/check?timeout=20s', ...same],
    ['POST', '/check?timeout=2s', ...same],
  ]);
  t.equal(server.connections(), 1);
});

t.test('a call carries the header of its trace', async (t) => {
  const seen: unknown[] = [];
  const server = await startWebhook(t, (_, response, { headers }) => {
    seen.push(headers['traceparent']);
    sendJson(response, {});
  });
  const calls: unknown[] = [];
  const traceparents = ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', undefined];
  const tracer: Pick<Tracer, 'call'> = {
    call: ({ name, attributes }, work) => {
      calls.push([name, attributes]);
      return work(traceparents[calls.length - 1]);
    },
  };
  const client = makeClient(t, { tracer });
  const url = `https://127.0.0.1:${server.port}/check`;
  const config = { url, caBundle: server.caBundle };
  for (const _ of traceparents) await client.post({ config, body, timeoutMs: patientMs });
  t.same(seen, traceparents);
  t.same(calls[0], ['HTTP POST', { 'http.method': 'POST', 'http.url': url }]);
});

t.test('a stale connection is replaced by a new one', async (t) => {
  const { server, post } = await pair(t, (_, response) => sendJson(response, {}));
  await post();
  server.cut();
  t.same(await post(), {});
  t.equal(server.connections(), 2);
});

t.test('a Service is called by its name, whatever its address', async (t) => {
  const hosts: unknown[] = [];
  const answer: Answer = (_, response, { headers, url, socket }) => {
    hosts.push([headers.host, url, 'servername' in socket ? socket.servername : '']);
    sendJson(response, {});
  };
  const server = await startWebhook(t, answer, { names: ['hooks.shop.svc'], ips: [] });
  const client = makeClient(t, { resolve: () => Promise.resolve({ host: '127.0.0.1', port: server.port }) });
  const service = { namespace: 'shop', name: 'hooks', path: '/a' };
  const { caBundle } = server;
  await client.post({ config: { service, caBundle }, body, timeoutMs: patientMs });
  t.same(hosts, [['hooks.shop.svc:443', '/a?timeout=20s', 'hooks.shop.svc']]);
  const other = { namespace: 'shop', name: 'other', port: 8443 };
  const failed = await failureOf(client.post({ config: { service: other, caBundle }, body, timeoutMs: patientMs }));
  t.equal(failed.failure, 'unreachable');
  t.equal(
    failed.message,
    'Post "https://other.shop.svc:8443/?timeout=20s": tls: failed to verify certificate: x509: ' +
      'certificate is valid for hooks.shop.svc, not other.shop.svc',
  );
});

t.test('failures have the messages of 1.24', async (t) => {
  const closed = createServer();
  const port = await new Promise<number>((resolve) =>
    closed.listen(0, '127.0.0.1', () => resolve((closed.address() as { port: number }).port)),
  );
  await new Promise((resolve) => closed.close(resolve));
  const client = makeClient(t);
  const at = (url: string, caBundle?: string) =>
    failureOf(client.post({ config: { url, ...(caBundle ? { caBundle } : {}) }, body, timeoutMs: patientMs }));
  t.same(await at(`https://127.0.0.1:${port}/x`), {
    failure: 'unreachable',
    message: `Post "https://127.0.0.1:${port}/x?timeout=20s": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    code: 503,
  });
  const { server } = await pair(t, (_, response) => sendJson(response, {}));
  t.match(await at(`https://127.0.0.1:${server.port}/`), {
    message: `Post "https://127.0.0.1:${server.port}/?timeout=20s": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  });
  t.match(await at('https://127.0.0.1/', Buffer.from('nonsense').toString('base64')), {
    failure: 'unusable',
    message: 'unable to load root certificates: unable to parse bytes as PEM block',
  });
  const nowhere = client.post({ config: {}, body, timeoutMs: patientMs });
  t.match(await failureOf(nowhere), { message: 'webhook configuration must have either service or URL' });
});

const answers: readonly [string, Answer, { failure: CallFailure; message: string | RegExp; code?: number }][] = [
  [
    'a failure',
    (_, response) => response.writeHead(500).end('no database'),
    {
      failure: 'refused',
      message: 'an error on the server ("no database") has prevented the request from succeeding',
      code: 500,
    },
  ],
  [
    'not found',
    (_, response) => response.writeHead(404).end(),
    { failure: 'refused', message: 'the server could not find the requested resource', code: 404 },
  ],
  [
    'a way to elsewhere, which is not taken',
    (_, response) => response.writeHead(307, { location: 'https://127.0.0.1:1/' }).end(),
    {
      failure: 'refused',
      message: 'the server responded with the status code 307 but did not return more information',
    },
  ],
  [
    'a failure without an end',
    (_, response) => {
      response.writeHead(500);
      const more = () => void (response.destroyed || response.write('x'.repeat(4096), () => setImmediate(more)));
      more();
    },
    { failure: 'refused', message: /^an error on the server \("x{2048}"\)/ },
  ],
  [
    'nothing',
    (_, response) => response.end(),
    { failure: 'invalid', message: /^0-length response with status code: 200/ },
  ],
  ['no JSON', (_, response) => response.end('{"a":'), { failure: 'invalid', message: /^the answer cannot be read: / }],
  [
    'a huge answer',
    (_, response) => {
      const more = () => void (response.destroyed || response.write('['.repeat(65_536), () => setImmediate(more)));
      more();
    },
    { failure: 'invalid', message: 'the answer is longer than 8388608 bytes' },
  ],
  [
    'too many parts',
    (_, response) => response.end(`[${'{},'.repeat(150_000)}{}]`),
    { failure: 'invalid', message: /limit is 100000 objects/ },
  ],
  [
    'an encoding that was not requested',
    (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
    { failure: 'invalid', message: 'the answer is encoded as "gzip", which was not asked for' },
  ],
  [
    'a connection that breaks',
    (_, response) => response.destroy(),
    { failure: 'unreachable', message: /^Post "https:.*": EOF$/ },
  ],
  [
    'half an answer',
    (_, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{', () => response.destroy());
    },
    { failure: 'unreachable', message: /^Post / },
  ],
];

for (const [name, answer, expected] of answers) {
  t.test(`gets ${name}`, async (t) => {
    const { server, post } = await pair(t, answer);
    t.match(await failureOf(post()), expected);
    // A failed call closes its connection.
    const again = await failureOf(post());
    t.equal(again.failure, expected.failure);
    t.ok(server.open() <= 2);
  });
}

t.test('a call without a response ends after its timeout', async (t) => {
  let requests = 0;
  const { server, post } = await pair(t, () => void requests++);
  const failed = await failureOf(post({ timeoutMs: 50 }));
  t.match(failed, { failure: 'deadline', message: /^Post ".*\/check\?timeout=1s": context deadline exceeded$/ });
  const slow = await pair(t, (_, response) => response.write('{'));
  t.match(await failureOf(slow.post({ timeoutMs: 100 })), { failure: 'deadline' });
  t.equal(requests, 1);
  while (server.open() > 0 || slow.server.open() > 0) await realClock.sleep(5);
  t.pass('and its connection is closed');
});

t.test('a cancelled call ends at once', async (t) => {
  const leaving = new AbortController();
  const { server, post } = await pair(t, () => leaving.abort());
  t.match(await failureOf(post({ cancellation: leaving.signal })), {
    failure: 'canceled',
    message: /: context canceled$/,
  });
  t.match(await failureOf(post({ cancellation: leaving.signal })), { failure: 'canceled' });
  while (server.open() > 0) await realClock.sleep(5);
});

t.test('concurrent calls are limited per webhook', async (t) => {
  const waiting: (() => void)[] = [];
  const server = await startWebhook(t, (_, response) => void waiting.push(() => sendJson(response, {})));
  const client = makeClient(t, { maxCalls: 2 });
  const call = (path: string) =>
    client.post({
      config: { url: `https://127.0.0.1:${server.port}${path}`, caBundle: server.caBundle },
      body,
      timeoutMs: patientMs,
    });
  const first = [call('/a'), call('/a')];
  await t.rejects(call('/a'), { code: 429, message: /^2 calls of the webhook https:.*\/a are under way already/ });
  const other = call('/b');
  while (waiting.length < 3) await realClock.sleep(5);
  for (const answer of waiting) answer();
  t.same(await Promise.all([...first, other]), [{}, {}, {}]);
});

t.test('concurrent lookups of one name are shared', async (t) => {
  let requests = 0;
  const addresses = Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
  const shared = sharedLookup(() => {
    requests += 1;
    return addresses;
  });
  const ask = () => new Promise((resolve) => shared('hooks', {}, (_, address) => resolve(address)));
  t.same(await Promise.all([ask(), ask(), ask()]), ['127.0.0.1', '127.0.0.1', '127.0.0.1']);
  t.equal(requests, 1);
});

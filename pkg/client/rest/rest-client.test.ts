import { Registry } from 'prom-client';
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { hasReason, isConflict, isExpired, isNotFound } from '#apimachinery/errors/status.js';
import {
  type InProcessRequest,
  type InProcessResponse,
  InProcessTransport,
} from '#client/rest/in-process-transport.js';
import { requestMetrics } from '#client/rest/metrics.js';
import { RestClient, type RestClientOptions } from '#client/rest/rest-client.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { WatchBody } from '#client/testing/watch-body.js';
import { isTransportError, TransportError } from '#http/client/transport-error.js';

type Step = Partial<InProcessResponse> | Error;

/** A client whose server gives scripted responses and then fails. */
function scripted(steps: Step[], options: Partial<RestClientOptions> = {}) {
  const clock = new VirtualClock();
  const received: InProcessRequest[] = [];
  const transport = new InProcessTransport({
    handler(request) {
      received.push(request);
      const step = steps.shift();
      if (step === undefined) return Promise.reject(new Error('unexpected request'));
      if (step instanceof Error) return Promise.reject(step);
      return Promise.resolve({ status: 200, headers: {}, body: undefined, ...step });
    },
  });
  const client = new RestClient({ transport, dialect: orchDialect, clock, ...options });
  return { client, clock, received };
}

function json(value: unknown, status = 200): Step {
  return { status, body: Buffer.from(JSON.stringify(value)) };
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('did not reject');
}

t.test('writes contain their type, list items get theirs', async (t) => {
  const { client, received } = scripted([
    json({ metadata: { name: 'a' } }),
    json({ items: [{ metadata: { name: 'a' } }] }),
    json({ items: null }),
  ]);
  const resource = client.resource(pods);
  const object: Pod = { metadata: { name: 'a', namespace: 'n' }, spec: { containers: [] } };
  await resource.create(object, { fieldManager: 'me', dryRun: true });
  t.equal(object.kind, undefined, 'the argument is not modified');
  t.match(received[0], { method: 'POST', url: '/api/v1/namespaces/n/pods?dryRun=All&fieldManager=me' });
  t.match(JSON.parse(String(received[0]?.body)), { apiVersion: 'v1', kind: 'Pod' });
  t.match(received[0]?.headers, {
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': /^orch-client/,
  });
  t.match((await resource.list({ limit: 1 })).items[0], { apiVersion: 'v1', kind: 'Pod' });
  t.same((await resource.list()).items, []);
});

t.test('deletes carry their options, patches their type', async (t) => {
  const { client, received } = scripted([json({}), json({}), json({}), json({})]);
  const resource = client.resource(pods);
  await resource.delete('a', { namespace: 'n' });
  t.equal(received[0]?.body.length, 0);
  await resource.delete('a', { namespace: 'n', gracePeriodSeconds: 0, preconditions: { uid: 'u' } });
  t.same(JSON.parse(String(received[1]?.body)), {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    gracePeriodSeconds: 0,
    preconditions: { uid: 'u' },
  });
  await resource.deleteCollection({ namespace: 'n', labelSelector: 'a=b', propagationPolicy: 'Background' });
  t.match(received[2], { method: 'DELETE', url: '/api/v1/namespaces/n/pods?labelSelector=a%3Db' });
  await resource.patch('a', { x: 1 }, { namespace: 'n', type: 'apply', fieldManager: 'm', force: true });
  t.match(received[3], {
    method: 'PATCH',
    url: '/api/v1/namespaces/n/pods/a?fieldManager=m&force=true',
    headers: { 'content-type': 'application/apply-patch+yaml' },
  });
});

t.test('failures become StatusErrors', async (t) => {
  const status = { kind: 'Status', reason: 'NotFound', message: 'pods "a" not found', code: 404 };
  const { client } = scripted([
    json(status, 404),
    { status: 502, body: Buffer.from('<html>bad gateway</html>') },
    { status: 409 },
    json([1]),
    { body: Buffer.from('{') },
  ]);
  const get = () => rejection(client.resource(pods).get('a', { namespace: 'n' }));
  t.ok(isNotFound(await get()));
  t.match(await get(), { code: 502, message: '<html>bad gateway</html>' });
  t.ok(isConflict(await get()));
  t.ok(isTransportError(await get(), 'Protocol'), 'not an object');
  t.ok(isTransportError(await get(), 'Protocol'), 'not JSON');
});

t.test('a request is retried after Retry-After', async (t) => {
  const busy: Step = { status: 429, headers: { 'retry-after': '7' } };
  const { client, clock, received } = scripted([
    busy,
    { status: 503, headers: { 'retry-after': '2' } },
    json({ metadata: {} }),
    { status: 503 },
  ]);
  const created = client.resource(pods).create({ metadata: { name: 'a', namespace: 'n' }, spec: { containers: [] } });
  await clock.advance(6999);
  t.equal(received.length, 1);
  await clock.advance(1);
  t.equal(received.length, 2);
  await clock.advance(2000);
  await created;
  t.ok(
    hasReason(await rejection(client.request('GET', '/readyz')), 'ServiceUnavailable'),
    'no retry without Retry-After',
  );
  t.equal(received.length, 4);
});

t.test('retries are limited', async (t) => {
  const { client, clock, received } = scripted([
    ...Array.from({ length: 11 }, () => ({ status: 429, headers: { 'retry-after': '1' } })),
    { status: 429 },
  ]);
  const failing = rejection(client.request('GET', '/x'));
  await clock.advance(60_000);
  t.ok(hasReason(await failing, 'TooManyRequests'));
  t.equal(received.length, 11);
  t.ok(
    hasReason(await rejection(client.request('GET', '/x')), 'TooManyRequests'),
    'a refusal without Retry-After is final',
  );
  t.equal(received.length, 12);
});

t.test('requests that never arrived are retried unless they might be applied twice', async (t) => {
  const refused = () => new TransportError('ConnectionRefused', 'refused');
  const reset = () => new TransportError('ConnectionReset', 'reset');
  const { client, clock, received } = scripted([refused(), refused(), json({}), reset(), json({}), refused(), reset()]);
  const get = client.request('GET', '/x');
  await clock.advance(1000);
  await get;
  t.equal(received.length, 3);
  const again = client.request('GET', '/x');
  await clock.advance(1000);
  await again;
  t.ok(isTransportError(await rejection(client.request('POST', '/x', {})), 'ConnectionRefused'));
  t.ok(isTransportError(await rejection(client.request('PUT', '/x', {})), 'ConnectionReset'));
  t.equal(received.length, 7);
});

t.test('the rate limit delays requests, and a waiting request can be aborted', async (t) => {
  const { client, clock, received } = scripted(
    Array.from({ length: 9 }, () => json({})),
    { qps: 2, burst: 2 },
  );
  const requests = Promise.all(Array.from({ length: 4 }, () => client.request('GET', '/x')));
  const stop = new AbortController();
  const givenUp = rejection(client.request('GET', '/x', undefined, { signal: stop.signal }));
  await eventLoopTurn();
  t.equal(received.length, 2);
  stop.abort();
  t.ok(isTransportError(await givenUp, 'Aborted'));
  await clock.advance(1000);
  await requests;
  t.equal(received.length, 4);
});

t.test('reads watch events independent of chunks', async (t) => {
  const body = new WatchBody();
  const { client, received } = scripted([{ body }]);
  const events: string[] = [];
  const watching = (async () => {
    for await (const event of client.resource(pods).watch({ resourceVersion: '5', allowWatchBookmarks: true })) {
      events.push(`${event.type} ${event.object.metadata.resourceVersion} ${event.object.kind}`);
    }
  })();
  body.raw('{"type":"ADDED","object":{"metadata":{"resourceVersion":"6"}}}\n{"type":"MODI');
  await eventLoopTurn();
  t.same(events, ['ADDED 6 Pod']);
  body.raw('FIED","object":{"metadata":{"resourceVersion":"7"}}}');
  await eventLoopTurn();
  t.equal(events.length, 1);
  body.raw(
    '\n{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}}\n{"type":"DELETED","object":{"me',
  );
  body.end();
  await watching;
  t.same(events, ['ADDED 6 Pod', 'MODIFIED 7 Pod', 'BOOKMARK 9 Pod']);
  t.equal(received[0]?.url, '/api/v1/pods?resourceVersion=5&watch=true&allowWatchBookmarks=true');
});

t.test('null members in JSON are absent, as in Protobuf', async (t) => {
  const conditions = [{ type: 'Ready', status: 'True', lastProbeTime: null }];
  const pod = { metadata: { name: 'a', creationTimestamp: null }, status: { conditions } };
  const named = { kind: 'Pod', apiVersion: 'v1', ...pod };
  const body = new WatchBody();
  const { client } = scripted([json(named), json({ items: [pod] }), { body }]);
  const resource = client.resource(pods);
  const expected = {
    ...named,
    metadata: { name: 'a' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };
  t.strictSame(await resource.get('a', { namespace: 'n' }), expected);
  t.strictSame((await resource.list()).items, [expected]);
  const first = resource.watch()[Symbol.asyncIterator]().next();
  body.send({ type: 'ADDED', object: named });
  t.strictSame((await first).value, { type: 'ADDED', object: expected });
  body.end();
});

t.test('reports failed watches', async (t) => {
  const gone = new WatchBody();
  gone.send({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } });
  const broken = new WatchBody();
  broken.end(new TransportError('ConnectionReset', 'broke'));
  const nonsense = new WatchBody();
  nonsense.raw('[]\n');
  const { client } = scripted([
    { body: gone },
    { body: broken },
    { body: nonsense },
    { status: 410, body: Buffer.from('gone') },
  ]);
  const first = () => rejection(client.resource(pods).watch()[Symbol.asyncIterator]().next());
  t.ok(isExpired(await first()));
  t.ok(isTransportError(await first(), 'ConnectionReset'));
  t.ok(isTransportError(await first(), 'Protocol'));
  t.ok(isExpired(await first()));
});

t.test('ending a watch tells the server', async (t) => {
  const bodies = [new WatchBody(), new WatchBody()];
  const { client, received } = scripted(bodies.map((body) => ({ body })));
  const stop = new AbortController();
  const aborted = (async () => {
    for await (const _ of client.resource(pods).watch({ signal: stop.signal }));
  })();
  await eventLoopTurn();
  stop.abort();
  await aborted;
  t.equal(received[0]?.signal.aborted, true);
  bodies[1]?.bookmark(1);
  for await (const _ of client.resource(pods).watch()) break;
  t.equal(received[1]?.signal.aborted, true);
});

t.test('requests are counted by verb, method and code', async (t) => {
  const registry = new Registry();
  const { client } = scripted([json({}), new TransportError('Timeout', 'late')], {
    metrics: requestMetrics(registry, 'host:1'),
  });
  await client.resource(pods).list();
  await rejection(client.request('GET', '/x'));
  const text = await registry.metrics();
  t.match(text, 'rest_client_requests_total{code="200",host="host:1",method="GET"} 1');
  t.match(text, 'rest_client_requests_total{code="<error>",host="host:1",method="GET"} 1');
  t.match(text, 'rest_client_request_duration_seconds_count{host="host:1",verb="LIST"} 1');
});

t.test('stops reading a response that is too long', async (t) => {
  const long = { items: 'x'.repeat(100) };
  const { client } = scripted([json(long), json(long), json(long, 404)]);
  t.same(await client.request('GET', '/a', undefined, { maxBytes: 200 }), long);
  for (const _ of ['an answer', 'a failure']) {
    const error = await rejection(client.request('GET', '/a', undefined, { maxBytes: 100 }));
    t.ok(isTransportError(error, 'Protocol'));
    t.match(error, { message: 'the response is longer than 100 bytes' });
  }
});

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

/** A client whose server gives scripted answers and fails when there are none left. */
function scripted(steps: Step[], options: Partial<RestClientOptions> = {}) {
  const clock = new VirtualClock();
  const seen: InProcessRequest[] = [];
  const transport = new InProcessTransport({
    handler(request) {
      seen.push(request);
      const step = steps.shift();
      if (step === undefined) return Promise.reject(new Error('unexpected request'));
      if (step instanceof Error) return Promise.reject(step);
      return Promise.resolve({ status: 200, headers: {}, body: undefined, ...step });
    },
  });
  const client = new RestClient({ transport, dialect: orchDialect, clock, ...options });
  return { client, clock, seen };
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

t.test('writes say what they are, lists say what their items are', async (t) => {
  const { client, seen } = scripted([
    json({ metadata: { name: 'a' } }),
    json({ items: [{ metadata: { name: 'a' } }] }),
    json({ items: null }),
  ]);
  const resource = client.resource(pods);
  const object: Pod = { metadata: { name: 'a', namespace: 'n' }, spec: { containers: [] } };
  await resource.create(object, { fieldManager: 'me', dryRun: true });
  t.equal(object.kind, undefined, 'the argument is left alone');
  t.match(seen[0], { method: 'POST', url: '/api/v1/namespaces/n/pods?dryRun=All&fieldManager=me' });
  t.match(JSON.parse(String(seen[0]?.body)), { apiVersion: 'v1', kind: 'Pod' });
  t.match(seen[0]?.headers, {
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': /^orch-client/,
  });
  t.match((await resource.list({ limit: 1 })).items[0], { apiVersion: 'v1', kind: 'Pod' });
  t.same((await resource.list()).items, []);
});

t.test('deletes carry their options, patches their type', async (t) => {
  const { client, seen } = scripted([json({}), json({}), json({}), json({})]);
  const resource = client.resource(pods);
  await resource.delete('a', { namespace: 'n' });
  t.equal(seen[0]?.body.length, 0);
  await resource.delete('a', { namespace: 'n', gracePeriodSeconds: 0, preconditions: { uid: 'u' } });
  t.same(JSON.parse(String(seen[1]?.body)), {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    gracePeriodSeconds: 0,
    preconditions: { uid: 'u' },
  });
  await resource.deleteCollection({ namespace: 'n', labelSelector: 'a=b', propagationPolicy: 'Background' });
  t.match(seen[2], { method: 'DELETE', url: '/api/v1/namespaces/n/pods?labelSelector=a%3Db' });
  await resource.patch('a', { x: 1 }, { namespace: 'n', type: 'apply', fieldManager: 'm', force: true });
  t.match(seen[3], {
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

t.test('an overloaded server is asked again when it says so', async (t) => {
  const busy: Step = { status: 429, headers: { 'retry-after': '7' } };
  const { client, clock, seen } = scripted([
    busy,
    { status: 503, headers: { 'retry-after': '2' } },
    json({ metadata: {} }),
    { status: 503 },
  ]);
  const created = client.resource(pods).create({ metadata: { name: 'a', namespace: 'n' }, spec: { containers: [] } });
  await clock.advance(6999);
  t.equal(seen.length, 1);
  await clock.advance(1);
  t.equal(seen.length, 2);
  await clock.advance(2000);
  await created;
  t.ok(
    hasReason(await rejection(client.request('GET', '/readyz')), 'ServiceUnavailable'),
    'without Retry-After it is not asked again',
  );
  t.equal(seen.length, 4);
});

t.test('an overloaded server is not asked for ever', async (t) => {
  const { client, clock, seen } = scripted([
    ...Array.from({ length: 11 }, () => ({ status: 429, headers: { 'retry-after': '1' } })),
    { status: 429 },
  ]);
  const failing = rejection(client.request('GET', '/x'));
  await clock.advance(60_000);
  t.ok(hasReason(await failing, 'TooManyRequests'));
  t.equal(seen.length, 11);
  t.ok(
    hasReason(await rejection(client.request('GET', '/x')), 'TooManyRequests'),
    'a refusal without Retry-After stands',
  );
  t.equal(seen.length, 12);
});

t.test('what never reached the server is sent again, except where it might do it twice', async (t) => {
  const refused = () => new TransportError('ConnectionRefused', 'refused');
  const reset = () => new TransportError('ConnectionReset', 'reset');
  const { client, clock, seen } = scripted([refused(), refused(), json({}), reset(), json({}), refused(), reset()]);
  const get = client.request('GET', '/x');
  await clock.advance(1000);
  await get;
  t.equal(seen.length, 3);
  const again = client.request('GET', '/x');
  await clock.advance(1000);
  await again;
  t.ok(isTransportError(await rejection(client.request('POST', '/x', {})), 'ConnectionRefused'));
  t.ok(isTransportError(await rejection(client.request('PUT', '/x', {})), 'ConnectionReset'));
  t.equal(seen.length, 7);
});

t.test('the rate holds, and a waiting request can be given up', async (t) => {
  const { client, clock, seen } = scripted(
    Array.from({ length: 9 }, () => json({})),
    { qps: 2, burst: 2 },
  );
  const requests = Promise.all(Array.from({ length: 4 }, () => client.request('GET', '/x')));
  const stop = new AbortController();
  const givenUp = rejection(client.request('GET', '/x', undefined, { signal: stop.signal }));
  await eventLoopTurn();
  t.equal(seen.length, 2);
  stop.abort();
  t.ok(isTransportError(await givenUp, 'Aborted'));
  await clock.advance(1000);
  await requests;
  t.equal(seen.length, 4);
});

t.test('watch events, whole, in halves and several at once', async (t) => {
  const body = new WatchBody();
  const { client, seen } = scripted([{ body }]);
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
  t.equal(seen[0]?.url, '/api/v1/pods?resourceVersion=5&watch=true&allowWatchBookmarks=true');
});

t.test('members that are null in JSON are absent, as in Protobuf', async (t) => {
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

t.test('watches that fail', async (t) => {
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
  const { client, seen } = scripted(bodies.map((body) => ({ body })));
  const stop = new AbortController();
  const aborted = (async () => {
    for await (const _ of client.resource(pods).watch({ signal: stop.signal }));
  })();
  await eventLoopTurn();
  stop.abort();
  await aborted;
  t.equal(seen[0]?.signal.aborted, true);
  bodies[1]?.bookmark(1);
  for await (const _ of client.resource(pods).watch()) break;
  t.equal(seen[1]?.signal.aborted, true);
});

t.test('metrics', async (t) => {
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

t.test('an answer is read only as far as it may be long', async (t) => {
  const long = { items: 'x'.repeat(100) };
  const { client } = scripted([json(long), json(long), json(long, 404)]);
  t.same(await client.request('GET', '/a', undefined, { maxBytes: 200 }), long);
  for (const _ of ['an answer', 'a failure']) {
    const error = await rejection(client.request('GET', '/a', undefined, { maxBytes: 100 }));
    t.ok(isTransportError(error, 'Protocol'));
    t.match(error, { message: 'the answer is longer than 100 bytes' });
  }
});

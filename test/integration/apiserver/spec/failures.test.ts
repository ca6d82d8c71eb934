/** Specification 1, 7 and 8: limits, and the form of failures. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { request } from 'node:https';
import t from 'tap';
import { runsKine } from '#test/etcd.js';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  configMap,
  configMaps,
  forgetHistory,
  mergePatch,
  type Response,
  serveOver,
  startSpec,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

const megabyte = 1024 * 1024;

t.test('failures', withEtcd, async (t) => {
  const { client, etcd } = await startSpec(t, { gates: { ServerSideFieldValidation: true } });
  const path = configMaps('failures');
  await client.make(path, configMap('a'));

  await covers(t, ['7 400'], 'malformed requests', async (t) => {
    const rows: [string, () => Promise<Response>, string | RegExp][] = [
      [
        'no body',
        () => client.post(path, ''),
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
      ],
      [
        'no JSON',
        () => client.post(path, '{'),
        /^the object provided is unrecognized \(must be of type ConfigMap\): couldn't get version\/kind; json parse error: /,
      ],
      [
        'another kind',
        () => client.post(path, { ...configMap('x'), kind: 'Secret' }),
        /Secret in version "v1" cannot be handled as a ConfigMap/,
      ],
      [
        'no such kind',
        () => client.post(path, { ...configMap('x'), kind: 'Nothing' }),
        'no kind "Nothing" is registered for version "v1"',
      ],
      [
        'a field of another type',
        () => client.post(path, { ...configMap('x'), data: { n: 1 } }),
        /^ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap\.data of type string$/,
      ],
      [
        'unknown fields, strictly',
        () =>
          client.post(`${path}?fieldValidation=Strict`, { ...configMap('x'), odd: 1, metadata: { name: 'x', odd: 2 } }),
        'strict decoding error: unknown field "metadata.odd", unknown field "odd"',
      ],
      [
        'a label selector',
        () => client.get(`${path}?labelSelector=a%20b`),
        "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
      ],
      [
        'a set-based one',
        () => client.get(`${path}?labelSelector=a%20in%20b`),
        "unable to parse requirement: found 'b' expected: '('",
      ],
      [
        'its key',
        () => client.get(`${path}?labelSelector=a_%3Db`),
        /^unable to parse requirement: <nil>: Invalid value: "a_": name part must consist of/,
      ],
      [
        'a field selector',
        () => client.get(`${path}?fieldSelector=abc`),
        "invalid selector: 'abc'; can't understand 'abc'",
      ],
      [
        'fields of a kind without its own',
        () => client.get(`${path}?fieldSelector=data.x=y`),
        '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
      ],
      ['fields of pods', () => client.get('/api/v1/pods?fieldSelector=spec.x=y'), 'field label not supported: spec.x'],
      [
        'a timeout',
        () => client.get(`${path}?timeout=soon`),
        'invalid timeout specified in the request URL - time: invalid duration "soon"',
      ],
      [
        'a unitless one',
        () => client.get(`${path}?timeout=5`),
        'invalid timeout specified in the request URL - time: missing unit in duration "5"',
      ],
      ['a path', () => client.get('/api/v1/namespaces/%zz/configmaps'), /percent-encoding/],
    ];
    for (const [name, run, message] of rows) {
      const { status, json, headers } = await run();
      t.equal(status, 400, name);
      t.match(
        json,
        { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 400, reason: 'BadRequest', message },
        name,
      );
      t.equal(headers['content-type'], 'application/json');
      t.match(headers['audit-id'], /./);
      t.equal(headers['cache-control'], 'no-cache, private');
    }
  });

  await covers(t, ['7 400'], 'well-formed but unsupported selectors', async (t) => {
    const url = configMaps('selectors');
    const rows: [string, Record<string, string>][] = [
      ['a', { tier: 'front', n: '3' }],
      ['b', { tier: 'back', n: '10' }],
      ['c', { canary: '' }],
    ];
    for (const [name, labels] of rows) await client.make(url, configMap(name, {}, { labels }));
    const selections: [string, string][] = [
      ['labelSelector=tier', 'a,b'],
      ['labelSelector=!tier', 'c'],
      ['labelSelector=tier=front', 'a'],
      ['labelSelector=tier==front', 'a'],
      ['labelSelector=tier!=front', 'b,c'],
      ['labelSelector=tier in (front,back),n>5', 'b'],
      ['labelSelector=tier notin (front)', 'b,c'],
      ['labelSelector=n<5', 'a'],
      ['labelSelector=canary=', 'c'],
      ['fieldSelector=metadata.name=b', 'b'],
      ['fieldSelector=metadata.name!=b,metadata.namespace=selectors', 'a,c'],
      ['fieldSelector=metadata.name=a&labelSelector=tier=back', ''],
      ['labelSelector=', 'a,b,c'],
    ];
    for (const [query, expected] of selections) {
      const { json } = await client.get(`${url}?${new URLSearchParams(query)}`);
      t.equal(json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name).join(), expected, query);
    }
  });

  await covers(t, ['7 406', '7 410', '7 504', '7 Retry-After'], 'each failure has its Status', async (t) => {
    t.match((await client.get(path, { accept: 'image/png' })).json, { code: 406, reason: 'NotAcceptable' });
    const old = (await client.get(path)).json.metadata.resourceVersion;
    await client.patch(`${path}/a`, mergePatch, { data: { n: '1' } });
    const token = (await client.get(`${configMaps('selectors')}?limit=1`)).json.metadata.continue;
    await client.patch(`${configMaps('selectors')}/a`, mergePatch, { data: { n: '1' } });
    await forgetHistory(etcd);
    const { client: late } = await serveOver(t, etcd);
    t.match((await late.get(`${path}?resourceVersion=${old}&resourceVersionMatch=Exact`)).json, {
      code: 410,
      reason: 'Expired',
    });
    t.match((await late.get(`${configMaps('selectors')}?continue=${token}`)).json, { code: 410, reason: 'Expired' });
    const future = await late.get(`${path}?resourceVersion=99999999`);
    t.match(future.json, { code: 504, reason: 'Timeout', message: /Too large resource version/ });
    t.equal(future.headers['retry-after'], '1');
  });

  await covers(t, ['7 400'], 'bodies over 3 MB: 413', async (t) => {
    const body = configMap('big', { x: 'y'.repeat(3 * megabyte) });
    const { status, json } = await client.post(path, body);
    t.equal(status, 413);
    t.same(json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Request entity too large: limit is 3145728',
      reason: 'RequestEntityTooLarge',
      code: 413,
    });
    // More than etcd accepts, less than the limit of bodies.
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'big', annotations: {} }, stringData: {} };
    const large = { ...secret, stringData: Object.fromEntries(['a', 'b'].map((k) => [k, 'y'.repeat(400 * 1024)])) };
    t.equal((await client.post('/api/v1/namespaces/failures/secrets', large)).status, 201);
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'big', namespace: 'failures' },
      involvedObject: { namespace: 'failures' },
      message: '',
    };
    for (const [bytes, message] of [
      // kine takes what fits into a message of gRPC.
      ...(runsKine ? [] : [[1.7 * megabyte, 'Request entity too large: etcdserver: request is too large'] as const]),
      [2.5 * megabyte, /^Request entity too large: grpc: .* message larger than max/],
    ] as const) {
      const large = { ...event, message: 'y'.repeat(bytes) };
      const refused = await client.post('/api/v1/namespaces/failures/events', large);
      t.match(refused.json, { status: 'Failure', code: 413, reason: 'RequestEntityTooLarge', message });
    }
    t.equal((await client.get('/api/v1/namespaces/failures/events/big')).status, 404);
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    t.match((await client.post(path, deep)).json, { code: 400, message: /exceeded max depth/ });
  });

  await covers(t, ['7 400'], 'warnings', async (t) => {
    const { status, headers } = await client.post(path, { ...configMap('warned'), odd: 1 });
    t.equal(status, 201);
    t.equal(headers['warning'], '299 - "unknown field \\"odd\\""');
    const silent = await client.post(`${path}?fieldValidation=Ignore`, { ...configMap('silent'), odd: 1 });
    t.equal(silent.headers['warning'], undefined);
  });
});

t.test('bodies of unauthorized requests', withEtcd, async (t) => {
  const { client, server } = await startSpec(t, {
    dependencies: {
      authenticator: {
        authenticate: async ({ headers }) =>
          headers['authorization'] === undefined ? undefined : { name: headers['authorization'], groups: [] },
      },
      authorizer: {
        mode: 'Test',
        authorize: async ({ user }) => ({ decision: user.name === 'admin' ? 'allow' : 'noOpinion', reason: '' }),
      },
    },
  });
  const path = configMaps('bodies');

  await t.test('are not read: the response precedes the body', async (t) => {
    const rows: [Record<string, string>, number][] = [
      [{}, 401],
      [{ authorization: 'eve' }, 403],
      [{ authorization: 'admin', accept: 'image/png' }, 0],
    ];
    for (const [headers, expected] of rows) {
      const outgoing = request({
        host: '127.0.0.1',
        port: client.port,
        path,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'content-length': String(2 * megabyte) },
        rejectUnauthorized: false,
        agent: false,
      });
      outgoing.on('error', () => undefined);
      const answered = once(outgoing, 'response') as Promise<[{ statusCode: number; resume(): void }]>;
      outgoing.write(Buffer.alloc(1024, 32));
      if (expected === 0) {
        // The body of an authorized client is awaited.
        const sent = await Promise.race([
          answered.then(() => 'answer'),
          client.get('/healthz', { authorization: 'admin' }),
        ]);
        t.not(sent, 'answer');
        outgoing.destroy();
        continue;
      }
      const [response] = await answered;
      t.equal(response.statusCode, expected);
      response.resume();
      outgoing.destroy();
    }
    const session = connect(`https://127.0.0.1:${client.port}`, { rejectUnauthorized: false });
    t.teardown(() => session.destroy());
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-length': 2 * megabyte });
    stream.on('error', () => undefined);
    stream.write(Buffer.alloc(1024));
    const [headers] = (await once(stream, 'response')) as [Record<string, number>];
    t.equal(headers[':status'], 401, 'over HTTP/2 too');
    t.ok(server.address);
  });
});

t.test('limits of time and number', withEtcd, async (t) => {
  const gates = new Map<string, Promise<void>>();
  let entered = 0;
  const { client } = await startSpec(t, {
    options: { maxMutatingRequestsInFlight: 2, maxRequestsInFlight: 5 },
    dependencies: {
      authenticator: { authenticate: async () => ({ name: 'x', groups: [] }) },
      admission: [
        {
          name: 'Hold',
          handles: ({ namespace }) => gates.has(namespace),
          admit: async ({ namespace }) => {
            entered += 1;
            await gates.get(namespace);
          },
        },
      ],
    },
  });
  const gate = (namespace: string) => {
    let open: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      open = resolve;
    });
    gates.set(namespace, held);
    return open;
  };

  await covers(t, ['7 504'], 'a request that takes too long', async (t) => {
    const open = gate('late');
    const late = await client.post(`${configMaps('late')}?timeout=100ms`, configMap('x'));
    t.equal(late.status, 504);
    t.same(late.json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Timeout: request did not complete within the allotted timeout',
      reason: 'Timeout',
      details: {},
      code: 504,
    });
    open();
  });

  await covers(t, ['7 Retry-After'], 'concurrent requests are limited', async (t) => {
    entered = 0;
    const open = gate('busy');
    const two = ['a', 'b'].map((name) => client.post(configMaps('busy'), configMap(name)));
    while (entered < 2) await client.get('/healthz');
    const third = await client.post(configMaps('busy'), configMap('c'));
    t.equal(third.status, 429);
    t.equal(third.headers['retry-after'], '1');
    t.same(third.json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Too many requests, please try again later.',
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 1 },
      code: 429,
    });
    t.equal((await client.get(configMaps('busy'))).status, 200, 'reads are counted apart');
    open();
    for (const answer of await Promise.all(two)) t.equal(answer.status, 201);
    t.equal((await client.post(configMaps('busy'), configMap('c'))).status, 201);
  });
});

import { once } from 'node:events';
import { constants, type ServerHttp2Session } from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { readAll } from '#client/rest/response.js';
import { http2Server, listening, testAuthority } from '#client/testing/tls-server.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { staticTls } from '#http/client/credentials.js';
import { isTransportError, TransportError } from '#http/client/transport-error.js';

const authority = await testAuthority();

async function setUp(t: Test, options: Parameters<typeof http2Server>[2] = {}) {
  const { server, port, url } = await http2Server(t, authority, options);
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => sessions.push(session));
  return { server, port, url, sessions };
}

function transportTo(t: Test, url: string, clock: Clock = realClock): HttpTransport {
  const transport = new HttpTransport({ server: url, clock, tls: staticTls({ ca: authority.certificate }) });
  t.teardown(() => transport.close());
  return transport;
}

async function ask(transport: HttpTransport, path = '/', method = 'GET', body?: string): Promise<string> {
  const request = { method, path, headers: {}, ...(body === undefined ? {} : { body }) };
  const response = await transport.request(request);
  return `${response.status} ${await readAll(response.body)}`;
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('did not reject');
}

t.test('all requests share one connection', async (t) => {
  const { server, sessions, url } = await setUp(t);
  server.on('stream', async (stream, headers) => {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    stream.respond({ ':status': 200 });
    stream.end(`${headers[':method']} ${headers[':path']} ${Buffer.concat(chunks)}`);
  });
  const transport = transportTo(t, `${url}/prefix`);
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => ask(transport, `/${i}`, 'POST', `b${i}`)));
  t.same(
    answers,
    Array.from({ length: 40 }, (_, i) => `200 POST /prefix/${i} b${i}`),
  );
  t.equal(sessions.length, 1);
});

t.test('credentials that change during the first dial fail no request', async (t) => {
  const { server, url } = await setUp(t);
  server.on('stream', (stream, headers) => {
    stream.respond({ ':status': 200 });
    stream.end(headers[':path']);
  });
  let changes = 0;
  const transport = new HttpTransport({
    server: url,
    clock: realClock,
    tls: {
      current: () => {
        if (changes < 5) changes += 1;
        return Promise.resolve(materials[changes - 1] ?? {});
      },
    },
  });
  t.teardown(() => transport.close());
  const materials = Array.from({ length: 5 }, () => ({ ca: authority.certificate }));
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(transport, `/${i}`, 'POST', '')));
  t.same(
    answers,
    Array.from({ length: 20 }, (_, i) => `200 /${i}`),
  );
});

t.test('more connections are opened when the server allows no more streams', async (t) => {
  const { server, sessions, url } = await setUp(t, { settings: { maxConcurrentStreams: 3 } });
  server.on('stream', (stream, headers) => {
    stream.respond({ ':status': 200 });
    if (headers[':path']?.includes('watch')) stream.write('x');
    else stream.end('ok');
  });
  const transport = transportTo(t, url);
  t.equal(await ask(transport), '200 ok');
  for (let i = 0; i < 7; i += 1) await transport.request({ method: 'GET', path: '/?watch=1', headers: {} });
  t.equal(await ask(transport), '200 ok');
  t.equal(sessions.length, 3);
});

t.test('a request that may not be sent any more is not sent, and a reset drops running ones', async (t) => {
  const { server, sessions, url } = await setUp(t);
  const seen: string[] = [];
  server.on('stream', (stream, headers) => {
    seen.push(headers[':path'] ?? '');
    stream.on('error', () => undefined);
    if (headers[':path'] === '/kept') return;
    stream.respond({ ':status': 200 });
    stream.end();
  });
  const transport = transportTo(t, url);
  let mayBe = true;
  const post = (path: string) =>
    transport.request({
      method: 'POST',
      path,
      headers: {},
      beforeSending: () => {
        if (!mayBe) throw new TransportError('Aborted', 'too late');
      },
    });
  const waiting = rejection(post('/late'));
  mayBe = false;
  t.match(await waiting, { message: 'too late', reason: 'Aborted' }, 'the request waited for its connection');
  mayBe = true;
  const arrived = once(server, 'stream');
  const kept = rejection(post('/kept'));
  await arrived;
  transport.reset();
  t.ok(isTransportError(await kept, 'Aborted'));
  t.equal(await ask(transport, '/new'), '200 ');
  t.same(seen, ['/kept', '/new']);
  t.equal(sessions.length, 2);
});

t.test('a broken connection is replaced, and its requests fail', async (t) => {
  const { server, sessions, url } = await setUp(t);
  let hang = true;
  const arrived = new Promise<void>((resolve) => {
    server.on('stream', (stream) => {
      stream.on('error', () => undefined);
      if (hang) resolve();
      else {
        stream.respond({ ':status': 200 });
        stream.end('ok');
      }
    });
  });
  const transport = transportTo(t, url);
  const lost = rejection(ask(transport));
  await arrived;
  hang = false;
  sessions[0]?.destroy();
  t.ok(isTransportError(await lost, 'ConnectionReset'));
  t.equal(await ask(transport), '200 ok');
  t.equal(sessions.length, 2);
});

t.test('requests that the server did not accept are sent again, whatever their method', async (t) => {
  const { server, url } = await setUp(t);
  const seen: string[] = [];
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    seen.push(String(headers[':method']));
    if (seen.length < 3) stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else {
      stream.respond({ ':status': 201 });
      stream.end('made');
    }
  });
  t.equal(await ask(transportTo(t, url), '/', 'POST', 'x'), '201 made');
  t.same(seen, ['POST', 'POST', 'POST']);
});

t.test('a server that goes away completes its requests; new ones use another connection', async (t) => {
  const { server, sessions, url } = await setUp(t);
  server.on('stream', (stream, headers) => {
    stream.respond({ ':status': 200 });
    if (headers[':path']?.includes('watch')) {
      stream.write('one');
      server.once('finish-watch', () => stream.end('two'));
    } else stream.end('ok');
  });
  const transport = transportTo(t, url);
  const { body } = await transport.request({ method: 'GET', path: '/?watch=1', headers: {} });
  const chunks = body[Symbol.asyncIterator]();
  t.equal(String((await chunks.next()).value), 'one');
  sessions[0]?.goaway();
  while (sessions.length < 2) {
    t.equal(await ask(transport), '200 ok');
    await eventLoopTurn();
  }
  server.emit('finish-watch');
  t.equal(String((await chunks.next()).value), 'two');
  t.equal((await chunks.next()).done, true);
});

t.test('a truncated response is an error', async (t) => {
  const { server, sessions, url } = await setUp(t);
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200 });
    stream.write('half', () => {
      for (const session of sessions) session.destroy();
    });
  });
  t.ok(isTransportError(await rejection(ask(transportTo(t, url))), 'ConnectionReset'));
});

t.test('reading a response to its end resets no stream, however many there are', async (t) => {
  const { server, sessions, url } = await setUp(t);
  server.on('stream', async (stream) => {
    for await (const _ of stream);
    stream.respond({ ':status': 200 });
    stream.end('x'.repeat(100));
  });
  const transport = transportTo(t, url);
  // Node.js accepts a thousand resets, then closes the connection.
  for (let round = 0; round < 40; round += 1) {
    await Promise.all(Array.from({ length: 40 }, () => ask(transport, '/', 'PUT', 'y')));
  }
  t.equal(sessions.length, 1);
});

t.test('headers of any length arrive, and ambiguous ones are not sent', async (t) => {
  const { server, sessions, url } = await setUp(t, { settings: { maxHeaderListSize: 100_000 } });
  server.on('stream', (stream, headers) => {
    stream.respond({ ':status': 200 });
    stream.end(`${headers['x-long']?.length} ${headers['x-several']}`);
  });
  const tls = staticTls({ ca: authority.certificate });
  const transport = new HttpTransport({ server: url, clock: realClock, tls, headers: { 'x-several': ['a', 'b'] } });
  t.teardown(() => transport.close());
  const get = (headers: Record<string, string>) => transport.request({ method: 'GET', path: '/', headers });
  const { body } = await get({ 'X-Long': 'x'.repeat(40_000) });
  t.equal(String(await readAll(body)), '40000 a, b');
  t.ok(isTransportError(await rejection(get({ bad: 'a\r\nb' }))));
  t.ok(isTransportError(await rejection(get({ bad: '\u0416' }))));
  t.equal(String(await readAll((await get({ 'x-long': '' })).body)), '0 a, b');
  t.equal(sessions.length, 1);
});

t.test('a stopped reader holds the server back, and gets everything later', async (t) => {
  const { server, url } = await setUp(t);
  const all = Buffer.alloc(24 * 1024 * 1024, 'abcdefg');
  let sent = 0;
  let left = false;
  server.on('stream', async (stream) => {
    stream.respond({ ':status': 200 });
    for (; sent < all.length; sent += 65_536) {
      if (!stream.write(all.subarray(sent, sent + 65_536))) await once(stream, 'drain');
    }
    stream.end();
    left = true;
  });
  const { body } = await transportTo(t, url).request({ method: 'GET', path: '/?watch=1', headers: {} });
  const chunks = body[Symbol.asyncIterator]();
  const read = [(await chunks.next()).value as Buffer];
  for (let before = -1; before !== sent; ) {
    before = sent;
    for (let i = 0; i < 20; i += 1) await eventLoopTurn();
  }
  t.notOk(left, 'most data waits at the server');
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) read.push(next.value);
  t.ok(Buffer.concat(read).equals(all));
});

t.test('cancelling a stream tells the server', async (t) => {
  const { server, url } = await setUp(t);
  const closed: Promise<unknown>[] = [];
  server.on('stream', (stream) => {
    closed.push(once(stream, 'close'));
    stream.respond({ ':status': 200 });
    stream.write('x');
  });
  const transport = transportTo(t, url);
  const left = await transport.request({ method: 'GET', path: '/?watch=1', headers: {} });
  for await (const _ of left.body) break;
  await closed[0];
  const stop = new AbortController();
  const aborted = await transport.request({ method: 'GET', path: '/?watch=1', headers: {}, signal: stop.signal });
  const chunks = aborted.body[Symbol.asyncIterator]();
  await chunks.next();
  stop.abort();
  t.ok(isTransportError(await rejection(chunks.next()), 'Aborted'));
  await closed[1];
});

t.test('a silent connection is closed', async (t) => {
  const { server, port, sessions } = await setUp(t);
  let pings = 0;
  server.on('session', (session) => session.on('ping', () => (pings += 1)));
  server.on('stream', (stream, headers) => {
    if (headers[':path'] === '/hang') return;
    stream.respond({ ':status': 200 });
    stream.end('ok');
  });
  const between: Socket[] = [];
  const wire = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
    client.pipe(upstream).pipe(client);
    between.push(upstream);
  });
  const wirePort = await listening(t, wire);
  const clock = new VirtualClock();
  const transport = new HttpTransport({
    server: `https://127.0.0.1:${wirePort}`,
    clock,
    timeoutMs: 0,
    tls: staticTls({ ca: authority.certificate }),
  });
  t.teardown(() => transport.close());
  t.equal(await ask(transport), '200 ok');
  const lost = rejection(ask(transport, '/hang'));
  for (let i = 0; i < 5; i += 1) {
    const before = pings;
    await clock.advance(60_000);
    while (pings === before) await eventLoopTurn();
    await eventLoopTurn();
  }
  t.equal(sessions.length, 1, 'a silent connection that answers pings is kept');
  between[0]?.unpipe();
  between[0]?.pause();
  // Each advance lets responses in this process arrive first.
  for (let i = 0; i < 10; i += 1) await clock.advance(15_000);
  t.ok(isTransportError(await lost, 'ConnectionReset'));
  t.equal(await ask(transport), '200 ok');
  t.equal(sessions.length, 2);
});

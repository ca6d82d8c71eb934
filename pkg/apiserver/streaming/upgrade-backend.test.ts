import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import t, { type Test } from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { authority } from '#apiserver/service-routing/address.js';
import { forwardedFor, forwardedHeaders } from '#apiserver/streaming/backend.js';
import { upgradeBackend } from '#apiserver/streaming/upgrade-backend.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

/** A connected pair of sockets: the client's end and the server's. */
async function socketPair(t: Test): Promise<{ client: Socket; server: Socket }> {
  const listener = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const client = connect({ port: (listener.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const [server] = (await once(listener, 'connection')) as [Socket];
  t.teardown(() => {
    client.destroy();
    server.destroy();
    listener.close();
  });
  return { client, server };
}

async function backend(t: Test, serve: (socket: Socket) => void): Promise<number> {
  const listener = createServer({ allowHalfOpen: true }, serve).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => {
    listener.close();
  });
  return (listener.address() as AddressInfo).port;
}

const request = (headers: Record<string, string> = {}): ApiRequest => ({
  method: 'GET',
  url: '/x',
  headers: { upgrade: 'websocket', connection: 'Upgrade', ...headers },
  body: Buffer.alloc(0),
  remoteAddress: '127.0.0.1',
  signal: new AbortController().signal,
});

function tunnel(
  port: number,
  socket: Duplex,
  more: { headers?: Record<string, string>; head?: string; signal?: AbortSignal; method?: string; clock?: Clock } = {},
) {
  return upgradeBackend({
    backend: { host: '127.0.0.1', port },
    request: { ...request(more.headers), method: more.method ?? 'GET' },
    path: '/exec/ns/pod/c?tty=1',
    tokenProtocolPrefix: 'base64url.bearer.authorization.orch.io.',
    socket,
    head: Buffer.from(more.head ?? ''),
    signal: more.signal ?? new AbortController().signal,
    clock: more.clock ?? realClock,
  });
}

async function bodyOf(answer: ApiResponse | undefined): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of (answer?.body ?? []) as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}

async function textOf(socket: Socket): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of socket as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString();
}

const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x/1\r\nX-Other: a\r\n\r\n';

/** Answers each request with the text, and returns the received requests. */
async function answering(t: Test, text: string, then: (socket: Socket) => void = () => undefined) {
  const seen: string[] = [];
  const port = await backend(t, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data: Buffer) => {
      seen.push(data.toString());
      socket.write(text);
      then(socket);
    });
  });
  return { port, seen };
}

t.test('the request is forwarded without headers for this server, and the response unchanged', async (t) => {
  let after = '';
  const { port, seen } = await answering(t, `${switching}at once`, (socket) => {
    socket.on('data', (data: Buffer) => {
      after += data.toString();
      socket.end(' and later');
    });
  });
  const { client, server } = await socketPair(t);
  const answer = await tunnel(port, server, {
    method: 'POST',
    head: 'first bytes',
    headers: {
      host: 'api.example',
      authorization: 'Bearer secret',
      cookie: 'a=b',
      'impersonate-user': 'root',
      'x-remote-user': 'root',
      'x-forwarded-for': '192.0.2.9',
      'x-stream-protocol-version': 'v4.channel.k8s.io, v3.channel.k8s.io',
      'sec-websocket-key': 'k',
      'sec-websocket-protocol': 'v5.channel.k8s.io, base64url.bearer.authorization.orch.io.c2VjcmV0',
    },
  });
  t.equal(answer, undefined);
  t.equal(await textOf(client), `${switching}at once and later`);
  t.equal(after, 'first bytes');
  const [got = ''] = seen;
  t.match(got, /^POST \/exec\/ns\/pod\/c\?tty=1 HTTP\/1\.1\r\n/);
  t.match(got, `host: 127.0.0.1:${port}\r\n`);
  t.match(got, 'sec-websocket-key: k\r\n');
  t.match(got, 'sec-websocket-protocol: v5.channel.k8s.io\r\n');
  t.match(
    got,
    /^x-stream-protocol-version: v4\.channel\.k8s\.io\r\nx-stream-protocol-version: v3\.channel\.k8s\.io\r$/m,
  );
  t.match(got, 'x-forwarded-for: 192.0.2.9, 127.0.0.1\r\n');
  t.match(got, 'cookie: a=b\r\n');
  t.notMatch(got, /secret|c2VjcmV0|root/i);
});

t.test('large amounts of data flow in both directions', async (t) => {
  const { port } = await answering(t, switching, (socket) => socket.pipe(socket));
  const { client, server } = await socketPair(t);
  await tunnel(port, server);
  const sent = Buffer.alloc(3_000_000, 'x');
  client.end(sent);
  t.equal((await textOf(client)).length, switching.length + sent.length);
});

t.test('either side and the signal end the tunnel', async (t) => {
  let ended = 0;
  const { port } = await answering(t, switching, (socket) => {
    socket.once('end', () => {
      ended += 1;
      socket.destroy();
    });
    socket.resume();
  });
  const first = await socketPair(t);
  await tunnel(port, first.server);
  first.client.resetAndDestroy();
  while (ended < 1) await realClock.sleep(5);
  const second = await socketPair(t);
  const stop = new AbortController();
  await tunnel(port, second.server, { signal: stop.signal });
  stop.abort();
  second.client.resume();
  await once(second.client, 'end');
  t.ok(second.server.destroyed);
  while (ended < 2) await realClock.sleep(5);
});

t.test('after the backend has ended, clients that disconnect or only send are closed', async (t) => {
  const { port } = await answering(t, switching, (socket) => socket.destroySoon());
  const gone = await socketPair(t);
  await tunnel(port, gone.server);
  await once(gone.server, 'finish');
  gone.client.write('more than was asked for');
  // `once` would reject if the connection ends with an error.
  const closed = new Promise((resolve) => gone.server.once('close', resolve));
  gone.client.resetAndDestroy();
  await closed;
  const clock = new VirtualClock();
  const talking = await socketPair(t);
  await tunnel(port, talking.server, { clock });
  talking.client.resume();
  await once(talking.client, 'end');
  t.notOk(talking.server.destroyed);
  await clock.advance(10_000);
  t.ok(talking.server.destroyed);
});

t.test('a client that keeps sending gets the last data of a backend that ends or resets', async (t) => {
  for (const breaksOff of [false, true]) {
    let backend: Socket | undefined;
    const { port } = await answering(t, switching, (socket) => {
      backend = socket;
      socket.once('data', () => (breaksOff ? socket.write('last words') : socket.end('last words')));
    });
    let got = '';
    // Reads one piece at a time and replies to each.
    const client = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        got += chunk.toString();
        if (breaksOff && got.endsWith('last words')) backend?.resetAndDestroy();
        this.push('more');
        setImmediate(done);
      },
      final(done) {
        this.push('and more');
        setImmediate(done);
      },
    });
    t.teardown(() => client.destroy());
    const over = new Promise((resolve) => client.once('finish', resolve).once('close', resolve));
    await tunnel(port, client);
    client.push('begin');
    await over;
    t.equal(got, `${switching}last words`);
    t.notOk(client.destroyed);
  }
});

t.test('a client that resets its connection under backpressure ends the tunnel', async (t) => {
  const { port } = await answering(t, switching, (socket) => socket.pause());
  const clock = new VirtualClock();
  const { client, server } = await socketPair(t);
  await tunnel(port, server, { clock });
  const chunk = Buffer.alloc(1024 * 1024);
  // Write until there is backpressure.
  for (let written = -1; written !== client.bytesWritten - client.writableLength; await realClock.sleep(50)) {
    written = client.bytesWritten - client.writableLength;
    client.write(chunk);
  }
  client.resetAndDestroy();
  await once(client, 'close');
  t.notOk(server.destroyed, 'it is not read');
  await clock.advance(30_000);
  if (!server.closed) await once(server, 'close');
  t.ok(server.destroyed);
});

t.test('a response without a protocol switch is an ordinary one, and limited', async (t) => {
  const { server } = await socketPair(t);
  const error =
    'HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nX-Accepted: a\r\nContent-Length: 2\r\n\r\nnoHTTP/1.1 200 OK';
  const refused = await tunnel((await answering(t, error)).port, server);
  t.match(refused, { status: 403, headers: { 'content-type': 'text/plain', 'x-accepted': 'a' } });
  t.equal((await bodyOf(refused)).toString(), 'no', 'no bytes after the limit');
  const endless = await answering(t, 'HTTP/1.1 500 Oh\r\n\r\n', (socket) => {
    const more = () => {
      while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
    };
    socket.on('drain', more);
    more();
  });
  t.equal((await bodyOf(await tunnel(endless.port, server))).length, 1024 * 1024);
  for (const [text, message] of [
    ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', /^invalid upgrade response: status code 200$/],
    ['HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n', /^invalid upgrade response: status code 302$/],
    ['no HTTP at all\r\n\r\n', /^error upgrading connection: /],
  ] as const) {
    await t.rejects(tunnel((await answering(t, text)).port, server), {
      message,
      code: 500,
      status: { reason: undefined },
    });
  }
  const broken = await answering(t, '', (socket) => socket.destroy());
  await t.rejects(tunnel(broken.port, server), { message: /^error upgrading connection: socket hang up/ });
  for (const headers of [{ 'content-length': '5' }, { 'transfer-encoding': 'chunked' }]) {
    await t.rejects(tunnel(1, server, { headers }), { code: 400 });
  }
  t.notOk(server.destroyed, 'the client is left to the caller');
});

t.test('an unreachable backend leaves the client connection to the caller', async (t) => {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  const { server } = await socketPair(t);
  await t.rejects(tunnel(port, server), { message: /^error dialing backend: connect ECONNREFUSED/, code: 500 });
  t.notOk(server.destroyed);
});

t.test('headers and addresses', (t) => {
  const sent = { accept: 'a', cookie: 'c=1', authorization: 'Bearer t', host: 'h', te: 'trailers', ':path': '/' };
  t.same(forwardedHeaders({ ...sent, absent: undefined }), { accept: 'a', cookie: 'c=1' });
  t.equal(forwardedFor({ headers: {}, remoteAddress: '192.0.2.1' }), '192.0.2.1');
  const behind = { headers: { 'x-forwarded-for': '192.0.2.9' }, remoteAddress: '192.0.2.1' };
  t.equal(forwardedFor(behind), '192.0.2.9, 192.0.2.1');
  t.equal(authority({ host: 'fd00::1', port: 1 }), '[fd00::1]:1');
  t.equal(authority({ host: 'n1', port: 1 }), 'n1:1');
  t.end();
});

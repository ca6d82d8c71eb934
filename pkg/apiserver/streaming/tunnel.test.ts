import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';
import { authority, forwardedHeaders } from '#apiserver/streaming/backend.js';
import { openTunnel } from '#apiserver/streaming/tunnel.js';

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
  more: { headers?: Record<string, string>; head?: string; signal?: AbortSignal } = {},
) {
  return openTunnel({
    backend: { host: '127.0.0.1', port },
    request: request(more.headers),
    path: '/exec/ns/pod/c?tty=1',
    tokenProtocolPrefix: 'base64url.bearer.authorization.orch.io.',
    socket,
    head: Buffer.from(more.head ?? ''),
    signal: more.signal ?? new AbortController().signal,
  });
}

async function textOf(socket: Socket): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of socket as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString();
}

t.test('the request arrives without what was meant for this server, and the answer as it is', async (t) => {
  let seen = '';
  const port = await backend(t, (socket) => {
    socket.on('data', (data: Buffer) => {
      seen += data.toString();
      if (seen.endsWith('first bytes')) socket.end('HTTP/1.1 404 Not Found\r\n\r\nno such pod');
    });
  });
  const { client, server } = await socketPair(t);
  await tunnel(port, server, {
    head: 'first bytes',
    headers: {
      host: 'api.example',
      authorization: 'Bearer secret',
      cookie: 'a=b',
      'impersonate-user': 'root',
      'x-remote-user': 'root',
      'sec-websocket-key': 'k',
      'sec-websocket-protocol': 'v5.channel.k8s.io, base64url.bearer.authorization.orch.io.c2VjcmV0',
    },
  });
  t.equal(await textOf(client), 'HTTP/1.1 404 Not Found\r\n\r\nno such pod');
  t.match(seen, /^GET \/exec\/ns\/pod\/c\?tty=1 HTTP\/1\.1\r\n/);
  t.match(seen, `host: 127.0.0.1:${port}\r\n`);
  t.match(seen, 'sec-websocket-key: k\r\n');
  t.match(seen, 'sec-websocket-protocol: v5.channel.k8s.io\r\n');
  t.notMatch(seen, /secret|c2VjcmV0|root|cookie/i);
});

t.test('large amounts go both ways', async (t) => {
  const port = await backend(t, (socket) => socket.pipe(socket));
  const { client, server } = await socketPair(t);
  await tunnel(port, server);
  const sent = Buffer.alloc(3_000_000, 'x');
  client.end(sent);
  const text = await textOf(client);
  t.equal(text.slice(text.indexOf('\r\n\r\n') + 4).length, sent.length);
});

t.test('either side, and the signal, end both', async (t) => {
  let ended = 0;
  const port = await backend(t, (socket) => {
    socket.on('error', () => undefined);
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

t.test('a backend that cannot be reached leaves the client to the caller', async (t) => {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  const { server } = await socketPair(t);
  await t.rejects(tunnel(port, server), { message: /error dialing backend: connect ECONNREFUSED/ });
  t.notOk(server.destroyed);
});

t.test('headers and addresses', (t) => {
  t.same(forwardedHeaders({ accept: 'a', host: 'h', te: 'trailers', ':path': '/', absent: undefined }), {
    accept: 'a',
  });
  t.equal(authority({ host: 'fd00::1', port: 1 }), '[fd00::1]:1');
  t.equal(authority({ host: 'n1', port: 1 }), 'n1:1');
  t.end();
});

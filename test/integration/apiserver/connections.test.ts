/** Limits of one connection: time, streams and bytes; and the responses beyond them. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import type { ConnectEndpoint } from '#apiserver/resources/endpoints.js';
import { NodeAgents } from '#apiserver/streaming/node-agents.js';
import { podLog } from '#apiserver/streaming/pod-log.js';
import { staticTls } from '#http/client/credentials.js';
import type { ServerLimits } from '#http/server/server-options.js';
import { createSelfSigned } from '#pki/self-signed.js';
import { WatchCache } from '#storage/cache/watch-cache.js';
import { call, type FlatDependencies, startServer } from '#test/integration/apiserver/server.js';

const path = '/api/v1/namespaces/default/configmaps';
const host = '127.0.0.1';

const issued = await createSelfSigned({ commonName: 'test', names: ['localhost'], ips: [host], now: realClock.now() });

function start(
  t: Test,
  limits: Partial<ServerLimits> = {},
  options: object = {},
  dependencies: Partial<FlatDependencies> = {},
): Promise<ApiServer> {
  const tls = { cert: issued.certificate, key: issued.privateKey };
  return startServer(t, { dependencies, options: { listen: { host, port: 0, tls, limits }, ...options } });
}

interface Raw {
  readonly socket: TLSSocket;
  /** All received data. */
  text(): string;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  /** Resolves when the pattern was received this many times. */
  until(pattern: RegExp, times?: number): Promise<void>;
}

async function raw(t: Test, server: ApiServer, protocol: 'http/1.1' | 'h2' = 'http/1.1'): Promise<Raw> {
  const port = server.address?.port ?? 0;
  const socket = connect({ host, port, rejectUnauthorized: false, ALPNProtocols: [protocol] });
  let got = '';
  socket.setEncoding('latin1');
  socket.on('data', (part: string) => {
    got += part;
  });
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.once('end', () => resolve());
    socket.once('close', () => resolve());
  });
  t.teardown(() => socket.destroy());
  await once(socket, 'secureConnect');
  return {
    socket,
    text: () => got,
    closed,
    async until(pattern, times = 1) {
      const all = new RegExp(pattern, `g${pattern.flags}`);
      while ([...got.matchAll(all)].length < times) {
        if (socket.destroyed) throw new Error(`closed after ${JSON.stringify(got)}`);
        await realClock.sleep(5);
      }
    },
  };
}

async function session(t: Test, server: ApiServer, options: object = {}): Promise<ClientHttp2Session> {
  const client = connectHttp2(`https://${host}:${server.address?.port}`, { rejectUnauthorized: false, ...options });
  client.on('error', () => undefined);
  t.teardown(() => client.destroy());
  await once(client, 'connect');
  return client;
}

function get(client: ClientHttp2Session, at: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = client.request({ ':path': at });
    stream.on('response', (headers) => resolve(Number(headers[':status'])));
    stream.on('error', reject);
    stream.resume();
  });
}

async function metric(server: ApiServer, pattern: RegExp): Promise<number> {
  return Number(pattern.exec((await call(server, 'GET', '/metrics')).text)?.[1] ?? 0);
}

const watches = (server: ApiServer) =>
  metric(server, /^apiserver_longrunning_requests\{[^}]*verb="WATCH"[^}]*\} (\d+)/m);

async function untilNoWatch(server: ApiServer): Promise<void> {
  while ((await watches(server)) !== 0) await realClock.sleep(10);
}

t.test('Host headers over HTTP/1', async (t) => {
  const server = await start(t);
  const rows: [head: string, line: string][] = [
    ['GET /version HTTP/1.1\r\n\r\n', 'HTTP/1.1 400 Bad Request: missing required Host header'],
    ['GET /version HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 'HTTP/1.1 400 Bad Request: too many Host headers'],
    ['GET /version HTTP/1.1\r\nHost: a b\r\n\r\n', 'HTTP/1.1 400 Bad Request: malformed Host header'],
    ['GET /version HTTP/1.1\r\nHost:\r\n\r\n', 'HTTP/1.1 200 OK'],
    ['GET /version HTTP/1.0\r\n\r\n', 'HTTP/1.1 200 OK'],
    ['GET /version HTTP/1.1\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n', 'HTTP/1.1 400 Bad Request'],
    ['GET /version HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n', 'HTTP/1.1 200 OK'],
  ];
  for (const [head, line] of rows) {
    const { socket, text, until } = await raw(t, server);
    socket.write(head);
    await until(/\r\n\r\n/);
    t.equal(text().split('\r\n')[0], line, JSON.stringify(head));
    if (line.includes('400')) {
      t.match(text(), /content-type: text\/plain; charset=utf-8\r\n(.*\r\n)*connection: close\r\n/i);
      t.match(text(), /\r\n\r\n400 Bad Request: (missing required|too many|malformed) Host header/);
    }
    socket.destroy();
  }
});

t.test('a body is refused before its end', async (t) => {
  const server = await start(t, { lingerMs: 2000 }, { maxBodyBytes: 100_000 });
  const head = (length: string) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${length}\r\n\r\n`;
  const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`;

  await t.test('a client that reads only after sending everything gets its response', async (t) => {
    for (let i = 0; i < 5; i++) {
      const { socket, closed, text } = await raw(t, server);
      socket.pause();
      socket.write(head('Content-Length: 800000'));
      for (let sent = 0; sent < 800_000; sent += 80_000) {
        await new Promise((resolve) => socket.write('x'.repeat(80_000), resolve));
      }
      socket.resume();
      await closed;
      t.match(text(), /^HTTP\/1\.1 413 Payload Too Large\r\n/);
      t.match(text(), '"reason":"RequestEntityTooLarge"');
    }
  });

  await t.test('a client that sends chunks forever gets its response', async (t) => {
    const { socket, until, closed } = await raw(t, server);
    socket.write(head('Transfer-Encoding: chunked'));
    let open = true;
    socket.once('close', () => {
      open = false;
    });
    const sending = (async () => {
      while (open && !socket.writableEnded) {
        if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), closed]).catch(() => undefined);
        await realClock.sleep(1);
      }
    })();
    await until(/^HTTP\/1\.1 413 /);
    await closed;
    socket.destroy();
    await sending;
  });

  await t.test('a client that stops sending is disconnected', async (t) => {
    const impatient = await start(t, { lingerMs: 100 }, { maxBodyBytes: 100_000 });
    const { socket, until } = await raw(t, impatient);
    socket.write(head('Content-Length: 800000'));
    await until(/^HTTP\/1\.1 413 /);
    if (!socket.closed) await once(socket, 'close');
  });

  await t.test('over HTTP/2 the stream is reset after the response, and the connection stays', async (t) => {
    const client = await session(t, server);
    const stream = client.request({ ':method': 'POST', ':path': path, 'content-type': 'application/json' });
    stream.on('error', () => undefined);
    stream.resume();
    stream.write(Buffer.alloc(200_000, 'x'));
    const [headers] = await once(stream, 'response');
    t.equal(headers[':status'], 413);
    while (!stream.closed) await realClock.sleep(5);
    t.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
    stream.destroy();
    t.equal(await get(client, '/version'), 200);
  });
});

t.test('clients that expect 100-continue', async (t) => {
  const server = await start(t, {}, { maxBodyBytes: 1000 });
  const head = (at: string, length: number) =>
    `POST ${at} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'asked' } });
  const waiting = await raw(t, server);
  waiting.socket.write(head(path, body.length));
  await waiting.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
  waiting.socket.write(body);
  await waiting.until(/HTTP\/1\.1 201 Created/);
  waiting.socket.destroy();
  const large = await raw(t, server);
  large.socket.write(head(path, 2000));
  await large.until(/^HTTP\/1\.1 413 /);
  large.socket.destroy();
  const strict = await start(
    t,
    {},
    {},
    { authorizer: { mode: 'No', authorize: async () => ({ decision: 'deny', reason: '' }) } },
  );
  const forbidden = await raw(t, strict);
  forbidden.socket.write(head(path, body.length));
  await forbidden.closed;
  t.match(forbidden.text(), /^HTTP\/1\.1 403 /);
  t.match(forbidden.text(), /connection: close/i);
});

t.test('idle connections are closed', async (t) => {
  const server = await start(t, { idleMs: 120, headersMs: 300, handshakeMs: 200 });

  await t.test('HTTP/2 without a request, and after the last one', async (t) => {
    for (const requests of [0, 2]) {
      const client = await session(t, server);
      for (let i = 0; i < requests; i++) t.equal(await get(client, '/version'), 200);
      // Pings do not count as requests.
      const pinging = setInterval(() => {
        if (!client.destroyed) client.ping(() => undefined);
      }, 20);
      const [code] = await once(client, 'goaway');
      t.equal(code, constants.NGHTTP2_NO_ERROR);
      if (!client.destroyed) await once(client, 'close');
      clearInterval(pinging);
    }
  });

  await t.test('a connection with a watch stays open', async (t) => {
    const client = await session(t, server);
    const stream = client.request({ ':path': `${path}?watch=true` });
    stream.on('error', () => undefined);
    stream.resume();
    await once(stream, 'response');
    await realClock.sleep(400);
    t.notOk(client.closed);
    stream.close();
    await once(client, 'goaway');
  });

  await t.test('HTTP/1.1 after a response', async (t) => {
    const { socket, closed, text } = await raw(t, server);
    socket.write('GET /version HTTP/1.1\r\nHost: a\r\n\r\n');
    await closed;
    t.match(text(), /^HTTP\/1\.1 200 OK/);
  });

  await t.test('incomplete headers, and no headers at all', async (t) => {
    const { socket, closed, text } = await raw(t, server);
    const drip = setInterval(() => socket.write('x-a: b\r\n'), 20);
    socket.write('GET /version HTTP/1.1\r\nHost: a\r\n');
    await closed;
    clearInterval(drip);
    t.match(text(), /^HTTP\/1\.1 408 Request Timeout/);
    const silent = await raw(t, server);
    await silent.closed;
  });
});

t.test('too large headers', async (t) => {
  const server = await start(t);
  const { socket, until } = await raw(t, server);
  socket.write(`GET /version HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${'x'.repeat(70_000)}\r\n\r\n`);
  await until(/^HTTP\/1\.1 431 /);
  const client = await session(t, server, { maxSendHeaderBlockLength: 2 ** 17 });
  const stream = client.request({ ':path': '/version', authorization: 'x'.repeat(70_000) });
  stream.on('error', () => undefined);
  stream.resume();
  const [headers] = await once(stream, 'response');
  t.equal(headers[':status'], 431, 'as from 1.24');
  t.equal((await call(server, 'GET', '/version')).status, 200);
});

t.test('pipelined requests are answered in order, up to a limit', async (t) => {
  const server = await start(t);
  const few = await raw(t, server);
  few.socket.write('GET /version HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(50));
  await few.until(/HTTP\/1\.1 200 OK/, 50);
  few.socket.destroy();
  const many = await raw(t, server);
  many.socket.write(`GET ${path}?watch=true HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(1000));
  await many.closed;
  await untilNoWatch(server);
  t.pass('nothing of it is left');
});

t.test('a long body before the previous response is complete', async (t) => {
  const server = await start(t);
  const body = (n: number) => JSON.stringify({ metadata: { name: `a${n}` }, data: { a: 'x'.repeat(200_000) } });
  const { socket, until } = await raw(t, server);
  for (let n = 0; n < 8; n++) {
    const text = body(n);
    const type = 'Content-Type: application/json';
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\n${type}\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
  }
  await until(/HTTP\/1\.1 201 Created/, 8);
  t.pass('the connection stays');
});

t.test('floods over HTTP/2', async (t) => {
  const server = await start(t, { idleMs: 500 });
  const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]);

  await t.test('streams that are opened and reset', async (t) => {
    const { socket, closed, until } = await raw(t, server, 'h2');
    socket.write(preface);
    // GET, https, path and authority as literals without indexing.
    const headers = Buffer.concat([
      Buffer.from([0x82, 0x87, 0x04, path.length + '?watch=true'.length]),
      Buffer.from(`${path}?watch=true`),
      Buffer.from([0x01, 1]),
      Buffer.from('a'),
    ]);
    const burst: Buffer[] = [];
    for (let id = 1; id < 10_000; id += 2) {
      burst.push(frame(1, 5, id, headers), frame(3, 0, id, Buffer.from([0, 0, 0, 8])));
    }
    socket.write(Buffer.concat(burst));
    await until(goAway);
    // New streams are refused; the idle connection is then closed.
    await closed;
    await untilNoWatch(server);
    t.pass('the connection was ended, and with it all that it had begun');
  });

  await t.test('endless headers', async (t) => {
    const { socket, closed } = await raw(t, server, 'h2');
    socket.write(Buffer.concat([preface, frame(1, 0, 1, Buffer.from([0x82]))]));
    const more = frame(9, 0, 1, Buffer.alloc(1000, 0x82));
    for (let i = 0; i < 1000 && !socket.destroyed; i++) socket.write(more);
    await closed;
    t.pass('the connection was ended');
  });

  await t.test('settings and pings whose replies are not read', async (t) => {
    for (const flood of [frame(4, 0, 0), frame(6, 0, 0, Buffer.alloc(8))]) {
      const { socket, closed } = await raw(t, server, 'h2');
      socket.pause();
      socket.write(preface);
      const burst = Buffer.concat(Array.from({ length: 5000 }, () => flood));
      for (let i = 0; i < 100 && !socket.destroyed; i++) socket.write(burst);
      await realClock.sleep(100);
      socket.resume();
      socket.end();
      await closed;
      socket.destroy();
    }
    t.ok((await call(server, 'GET', '/version')).status === 200, 'the server still answers');
  });
});

/** A GOAWAY frame (type 7) on stream 0, decoded as Latin-1. */
const goAway = /\x07\x00\x00\x00\x00\x00/;

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The endless log of the pod `chatty`, with backpressure. @returns Also the number of its followers. */
async function endlessLog(t: Test): Promise<{ endpoint: ConnectEndpoint; followers: () => Promise<number> }> {
  let followers = 0;
  const agent = createServer({ cert: issued.certificate, key: issued.privateKey }, (_, answer) => {
    const say = () => {
      while (answer.write('x'.repeat(65_536)));
    };
    followers += 1;
    answer.once('close', () => {
      followers -= 1;
    });
    answer.on('drain', say);
    say();
  });
  agent.listen(0, host);
  await once(agent, 'listening');
  t.teardown(() => {
    agent.closeAllConnections();
    agent.close();
  });
  const reader = new MemoryObjectReader();
  const { port } = agent.address() as AddressInfo;
  reader.put(nodes, {
    metadata: { name: 'n1' },
    spec: {},
    status: { addresses: [{ type: 'InternalIP', address: host }] },
  });
  reader.put(pods, {
    metadata: { name: 'chatty', namespace: 'default' },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
  });
  const options = {
    reader,
    tls: staticTls({}),
    addressTypes: ['InternalIP'],
    defaultPort: port,
    resolve: async () => [],
  };
  const endpoint = podLog({ reader, nodeAgents: new NodeAgents(options), dialect: kubernetesDialect });
  return { endpoint, followers: async () => followers };
}

t.test('readers that stall', async (t) => {
  const { endpoint, followers } = await endlessLog(t);
  const server = await start(t, {}, { stallMs: 150 }, { connects: [endpoint] });
  const data = { x: 'y'.repeat(500_000) };
  for (let i = 0; i < 20; i++) {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${i}` }, data };
    t.equal((await call(server, 'POST', path, { body: object })).status, 201);
  }
  const before = descriptors();
  const log = '/api/v1/namespaces/default/pods/chatty/log?follow=true';
  const upgrade = 'Host: a\r\nConnection: Upgrade\r\nUpgrade: ';
  const webSocket = 'websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n';
  const body = `Content-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`;
  const held = () => metric(server, /^apiserver_response_memory_bytes (\d+)/m);
  const watched = () => watches(server);
  for (const [name, head, underWay] of [
    ['a watch over WebSocket', `GET ${path}?watch=true HTTP/1.1\r\n${upgrade}${webSocket}\r\n`, watched],
    ['a log over WebSocket', `GET ${log} HTTP/1.1\r\n${upgrade}${webSocket}\r\n`, followers],
    ['a watch that asked for another protocol', `GET ${path}?watch=true HTTP/1.1\r\n${upgrade}h2c\r\n\r\n`, watched],
    ['a watch with an unread body', `GET ${path}?watch=true HTTP/1.1\r\nHost: a\r\n${body}`, watched],
    ['a list that asked for another protocol', `GET ${path} HTTP/1.1\r\n${upgrade}h2c\r\n\r\n`, held],
  ] as const) {
    await t.test(name, async (t) => {
      const { socket, closed } = await raw(t, server);
      socket.pause();
      socket.write(head);
      while ((await underWay()) === 0) await realClock.sleep(5);
      while ((await underWay()) > 0) await realClock.sleep(5);
      socket.resume();
      await closed;
      t.pass('it was cut');
    });
  }
  // Both sides have closed the sockets of disconnected readers.
  while (descriptors() > before) await realClock.sleep(5);
  t.pass('all descriptors are given back');
});

/** Open files and sockets of this process. */
function descriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

t.test('a HEAD request for a watch ends after its head', async (t) => {
  const signals: Cancellation[] = [];
  const watch: WatchCache['watch'] = WatchCache.prototype.watch;
  t.intercept(WatchCache.prototype, 'watch', {
    value(this: WatchCache, options: Parameters<WatchCache['watch']>[0]) {
      if (options.scope.startsWith('default/')) signals.push(options.signal);
      return watch.call(this, options);
    },
  });
  const server = await start(t);
  const { socket, until } = await raw(t, server);
  socket.write(`HEAD ${path}?watch=true HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(3));
  await until(/HTTP\/1\.1 200 OK/, 3);
  while (signals.length < 3 || signals.some((signal) => !signal.aborted)) await realClock.sleep(5);
  t.equal(signals.length, 3);
});

import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { HttpTransport, type HttpTransportOptions } from '#client/rest/http-transport.js';
import { readAll } from '#client/rest/response.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { staticTls, staticToken, type TlsMaterial, type TokenSource } from '#http/client/credentials.js';
import { isTransportError, TransportError } from '#http/client/transport-error.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';

async function listen(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function plain(t: Test, listener: RequestListener, options: Partial<HttpTransportOptions> = {}) {
  const port = await listen(t, createHttpServer(listener));
  const transport = new HttpTransport({ server: `http://127.0.0.1:${port}/prefix`, clock: realClock, ...options });
  t.teardown(() => transport.close());
  return transport;
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('did not reject');
}

t.test('sends requests and reads responses', async (t) => {
  const sockets = new Set<unknown>();
  const transport = await plain(
    t,
    async (request, response) => {
      sockets.add(request.socket);
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      response.writeHead(201, { 'x-seen': request.headers.authorization ?? '', vary: 'a, b' });
      response.end(`${request.method} ${request.url} ${Buffer.concat(chunks)}`);
    },
    { token: staticToken('secret') },
  );
  for (let i = 0; i < 3; i += 1) {
    const response = await transport.request({ method: 'POST', path: '/x?y=1', headers: {}, body: 'häl' });
    t.equal((await readAll(response.body)).toString(), 'POST /prefix/x?y=1 häl');
    t.match(response, { status: 201, headers: { 'x-seen': 'Bearer secret', vary: 'a, b' } });
  }
  t.equal(sockets.size, 1, 'the connection is kept');
});

t.test('a stream arrives in parts and can be ended by either side', async (t) => {
  let closed: Promise<unknown> | undefined;
  const transport = await plain(t, (request, response) => {
    closed = once(request.socket, 'close');
    response.write('one\n');
    if (request.url?.endsWith('/cut') === true) setImmediate(() => request.socket.destroy());
  });
  const stop = new AbortController();
  const response = await transport.request({ method: 'GET', path: '/x?watch=true', headers: {}, signal: stop.signal });
  const chunks = response.body[Symbol.asyncIterator]();
  t.equal(String((await chunks.next()).value), 'one\n');
  stop.abort();
  t.ok(isTransportError(await rejection(chunks.next()), 'Aborted'));
  await closed;
  const left = await transport.request({ method: 'GET', path: '/x?watch=true', headers: {} });
  for await (const _ of left.body) break;
  await closed;
  const cut = await transport.request({ method: 'GET', path: '/cut', headers: {} });
  t.ok(isTransportError(await rejection(readAll(cut.body)), 'ConnectionReset'));
});

t.test('many streams do not delay requests', async (t) => {
  const transport = await plain(t, (request, response) => {
    if (request.url?.includes('watch') === true) response.write('x');
    else response.end('ok');
  });
  const streams = await Promise.all(
    Array.from({ length: 40 }, () => transport.request({ method: 'GET', path: '/x?watch=1', headers: {} })),
  );
  t.equal(streams.length, 40);
  const response = await transport.request({ method: 'GET', path: '/x', headers: {} });
  t.equal(String(await readAll(response.body)), 'ok');
});

t.test('a request refused by beforeSending is not sent', async (t) => {
  const received: string[] = [];
  const transport = await plain(t, (request, response) => {
    received.push(request.url ?? '');
    response.end();
  });
  const refuse = () => {
    throw new TransportError('Aborted', 'too late');
  };
  const post = { method: 'POST', headers: {}, body: 'x' };
  const late = await rejection(transport.request({ ...post, path: '/late', beforeSending: refuse }));
  t.match(late, { message: 'too late', reason: 'Aborted' });
  await transport.request({ ...post, path: '/kept', beforeSending: () => undefined });
  t.match(
    await rejection(transport.request({ ...post, path: '/late', beforeSending: refuse })),
    late,
    'on a kept-alive connection',
  );
  await transport.request({ ...post, path: '/last' });
  t.same(received, ['/prefix/kept', '/prefix/last']);
});

t.test('data still in kernel buffers is not sent after a reset', async (t) => {
  const sockets: Socket[] = [];
  const server = createTcpServer({ pauseOnConnect: true }, (socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  const transport = new HttpTransport({ server: `http://127.0.0.1:${port}`, clock: realClock });
  t.teardown(() => transport.close());
  const connected = once(server, 'connection');
  const failed = rejection(transport.request({ method: 'POST', path: '/', headers: {}, body: 'x' }));
  await connected;
  transport.reset();
  t.ok(isTransportError(await failed, 'Aborted'));
  const [first] = sockets;
  const broken = once(first ?? t, 'error');
  first?.resume();
  t.match(await broken, [{ code: 'ECONNRESET' }], 'reset instead of a graceful close, which would flush buffers');
  const again = once(server, 'connection');
  const next = rejection(transport.request({ method: 'GET', path: '/', headers: {} }));
  await again;
  await transport.close();
  t.ok(isTransportError(await next, 'Closed'));
});

t.test('failures have reasons', async (t) => {
  const clock = new VirtualClock();
  const pending = new Set<() => void>();
  const arrived = new Promise<void>((resolve) => pending.add(resolve));
  const transport = await plain(
    t,
    () =>
      pending.forEach((resolve) => {
        resolve();
      }),
    { clock, timeoutMs: 5000 },
  );
  const late = rejection(transport.request({ method: 'GET', path: '/', headers: {} }));
  await arrived;
  await clock.advance(5000);
  t.ok(isTransportError(await late, 'Timeout'));
  await transport.close();
  t.ok(isTransportError(await rejection(transport.request({ method: 'GET', path: '/', headers: {} })), 'Closed'));
  const free = createHttpServer();
  const port = await listen(t, free);
  free.close();
  const nobody = new HttpTransport({ server: `http://127.0.0.1:${port}`, clock: realClock });
  t.ok(
    isTransportError(await rejection(nobody.request({ method: 'GET', path: '/', headers: {} })), 'ConnectionRefused'),
  );
});

t.test('a stalled response times out, a silent stream does not', async (t) => {
  const clock = new VirtualClock();
  const transport = await plain(t, (_request, response) => void response.write('part'), { clock, timeoutMs: 5000 });
  const open = async (path: string) => {
    const response = await transport.request({ method: 'GET', path, headers: {} });
    const body = response.body[Symbol.asyncIterator]();
    await body.next();
    return body;
  };
  const answer = await open('/x');
  const stream = await open('/x?watch=true');
  const late = rejection(answer.next());
  let ended = false;
  const silent = stream.next().catch(() => {
    ended = true;
  });
  await clock.advance(60_000);
  t.ok(isTransportError(await late, 'Timeout'));
  t.equal(ended, false);
  await transport.close();
  await silent;
});

t.test('a rotated token is used without a failed request', async (t) => {
  const received: string[] = [];
  const transport = await plain(
    t,
    (request, response) => {
      received.push(request.headers.authorization ?? '');
      response.writeHead(request.headers.authorization === 'Bearer new' ? 200 : 401).end('x');
    },
    { token: rotating(['old', 'old', 'new']) },
  );
  t.equal((await transport.request({ method: 'GET', path: '/', headers: {} })).status, 200);
  t.same(received, ['Bearer old', 'Bearer new']);
});

function rotating(tokens: string[]): TokenSource {
  let index = 0;
  return {
    token: () => Promise.resolve(tokens[Math.min(index, tokens.length - 1)] ?? ''),
    invalidate: () => {
      index = tokens.length - 1;
    },
  };
}

t.test('TLS authenticates both sides, and a new client certificate is used', async (t) => {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const serving = await issueCertificate(authority, {
    subject: { commonName: 'server', organizations: [] },
    usages: ['server'],
    ips: ['127.0.0.1'],
    now,
  });
  const client = (name: string) =>
    issueCertificate(authority, { subject: { commonName: name, organizations: [] }, usages: ['client'], now });
  const server = createHttpsServer(
    {
      cert: serving.certificate,
      key: serving.privateKey,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      const socket = request.socket as TLSSocket;
      response.end(`${socket.authorized} ${socket.getPeerCertificate().subject?.CN ?? '-'}`);
    },
  );
  const port = await listen(t, server);
  const material = async (name: string): Promise<TlsMaterial> => {
    const issued = await client(name);
    return { ca: authority.certificate, cert: issued.certificate, key: issued.privateKey };
  };
  let current = await material('first');
  const transport = new HttpTransport({
    server: `https://127.0.0.1:${port}`,
    clock: realClock,
    tls: { current: () => Promise.resolve(current) },
  });
  t.teardown(() => transport.close());
  const ask = async () =>
    String(await readAll((await transport.request({ method: 'GET', path: '/', headers: {} })).body));
  t.equal(await ask(), 'true first');
  current = await material('second');
  t.equal(await ask(), 'true second');
  const stranger = new HttpTransport({ server: `https://127.0.0.1:${port}`, clock: realClock, tls: staticTls({}) });
  t.ok(isTransportError(await rejection(stranger.request({ method: 'GET', path: '/', headers: {} })), 'TLS'));
  const trusting = new HttpTransport({
    server: `https://127.0.0.1:${port}`,
    clock: realClock,
    insecureSkipVerify: true,
  });
  t.teardown(() => trusting.close());
  t.equal((await trusting.request({ method: 'GET', path: '/', headers: {} })).status, 200);
});

t.test('large responses may be compressed, except streams and on request', async (t) => {
  const listener: RequestListener = (request, response) => {
    const packed = request.headers['accept-encoding'] === 'gzip';
    const text = `${request.url} ${'x'.repeat(100_000)}`;
    const body = packed ? gzipSync(text) : Buffer.from(text);
    response.writeHead(200, packed ? { 'content-encoding': 'gzip' } : {});
    if (request.url?.includes('cut') === true) response.write(body.subarray(0, 50), () => request.socket.destroy());
    else response.end(body);
  };
  const transport = await plain(t, listener);
  const ask = async (path: string, from = transport) => {
    const response = await from.request({ method: 'GET', path, headers: {} });
    return { encoding: response.headers['content-encoding'], text: String(await readAll(response.body)) };
  };
  const answer = await ask('/x');
  t.equal(answer.encoding, undefined, 'the encoding is hidden');
  t.equal(answer.text, `/prefix/x ${'x'.repeat(100_000)}`);
  t.match((await ask('/x?watch=1')).text, /^\/prefix\/x\?watch=1 x/);
  t.match((await ask('/x', await plain(t, listener, { compression: false }))).text, /^\/prefix\/x x/);
  t.ok(isTransportError(await rejection(ask('/cut')), 'ConnectionReset'));
});

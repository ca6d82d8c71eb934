/** The controller as clients see it, over HTTP/1.1, HTTP/2 and TLS, with an API and backends. */

import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { events, secrets, services } from '#api/core/v1/resources.gen.js';
import type { Secret, Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { ingressclasses, ingresses } from '#api/networking/v1/resources.gen.js';
import type { Ingress } from '#api/networking/v1/types.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { parseCIDR } from '#apimachinery/net/ip.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { frozen } from '#client/testing/frozen.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { metricsText } from '#daemon/metrics/registry.js';
import { standardLimits } from '#ingress/http/limits.js';
import { IngressController, type IngressControllerOptions } from '#ingress/ingress-controller.js';
import { generateRsaKey } from '#pki/keys.js';
import { createSelfSigned } from '#pki/self-signed.js';

async function listen(t: Test, handler: RequestListener): Promise<{ server: Server; port: number }> {
  const server = createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** A port without a listener. */
async function deadPort(t: Test): Promise<number> {
  const { server, port } = await listen(t, () => undefined);
  await new Promise((done) => server.close(done));
  return port;
}

async function setUp(t: Test, options: Partial<IngressControllerOptions> = {}) {
  const resources = [events, secrets, services, endpointslices, ingresses, ingressclasses];
  const api = new FakeApi({ dialect, clock, resources });
  await api.client.resource(ingressclasses).create({
    metadata: { name: 'own' },
    spec: { controller: dialect.ingress.controller },
  });
  const stop = new AbortController();
  const informers = new SharedInformerFactory({
    client: api.client,
    clock,
    random: Math.random,
    log,
    transform: frozen,
  });
  const metrics = new Registry();
  const controller = new IngressController({
    ...{ informers, clock, log, metrics, random: Math.random, limits: standardLimits },
    recorder: { record: () => undefined },
    ...{ address: '127.0.0.1', httpPort: 0, httpsPort: 0, redirects: true },
    publishedAddresses: ['192.0.2.1', 'lb.example.com'],
    trustedProxies: [],
    ...options,
  });
  const informing = informers.start(stop.signal);
  const running = controller.start(stop.signal);
  t.teardown(async () => {
    await controller.close();
    await running;
    stop.abort();
    await informing;
  });
  await controller.ready();
  const { http: port = 0, https: securePort = 0 } = controller.ports;

  /** A service with endpoints on these loopback ports. */
  const addService = async (name: string, ...ports: number[]) => {
    await api.client.resource(services).create({
      metadata: { name, namespace: 'default' },
      spec: { ports: [{ name: 'web', port: 80 }] },
    } as Service);
    for (const [i, endpoint] of ports.entries()) {
      const labels = { [dialect.labels.serviceName]: name };
      await api.client.resource(endpointslices).create({
        metadata: { name: `${name}-${i}`, namespace: 'default', labels },
        addressType: 'IPv4',
        ports: [{ name: 'web', port: endpoint }],
        endpoints: [{ addresses: ['127.0.0.1'] }],
      } as EndpointSlice);
    }
  };
  const addIngress = (name: string, spec: object) =>
    api.client.resource(ingresses).create({
      metadata: { name, namespace: 'default' },
      spec: { ingressClassName: 'own', ...spec },
    } as Ingress);
  const to = (service: string) => ({ service: { name: service, port: { number: 80 } } });
  const ask = (options: object = {}, body?: string | Buffer) =>
    send(httpRequest({ host: '127.0.0.1', port, ...options }), body);
  /** Repeats a request until the rules are loaded. */
  const untilRouted = async (options: object = {}) => {
    for (;;) {
      const answer = await ask(options);
      if (answer.status !== 404 && answer.status !== 503) return answer;
      await clock.sleep(10);
    }
  };
  return { api, controller, metrics, port, securePort, addService, addIngress, to, ask, untilRouted };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

async function send(request: ReturnType<typeof httpRequest>, body?: string | Buffer): Promise<Answer> {
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(parts).toString() };
}

/** Sends bytes and returns everything until the other side ends. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  let said = '';
  socket.on('data', (chunk) => {
    said += chunk.toString('latin1');
  });
  socket.write(text);
  await once(socket, 'close');
  return said;
}

/** Echoes requests. */
const echo: RequestListener = (request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.setHeader('connection', 'x-internal');
    response.setHeader('x-internal', 'mine');
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
  });
};

t.test('requests and responses', async (t) => {
  const cluster = await setUp(t);
  const { addIngress, addService, ask, port, to, untilRouted } = cluster;
  const { port: backend } = await listen(t, echo);
  await addService('web', backend);
  t.equal((await ask()).status, 404, 'before any rule exists');
  await addIngress('web', { defaultBackend: to('web') });
  await untilRouted();

  await t.test('a request arrives unchanged', async (t) => {
    const { status, headers, text } = await ask(
      {
        method: 'POST',
        path: '/a%20b/../c?d=/../e',
        headers: {
          host: `Shop.example.com:${port}`,
          connection: 'x-hop',
          'x-hop': 'mine',
          'x-forwarded-for': '10.1.1.1',
          x_forwarded_for: '10.1.1.2',
          'x-forwarded-proto': 'https',
          'x-real-ip': '10.1.1.1',
          forwarded: 'for=10.1.1.1',
          'proxy-authorization': 'secret',
          accept: 'text/plain',
          'transfer-encoding': 'chunked',
        },
      },
      'hello',
    );
    t.equal(status, 200);
    t.same(headers['set-cookie'], ['a=1', 'b=2']);
    t.equal(headers['x-internal'], undefined, 'hop-by-hop headers of the backend are removed');
    const got = JSON.parse(text) as { method: string; url: string; body: string; headers: object };
    t.match(got, { method: 'POST', url: '/c?d=/../e', body: 'hello' });
    t.same(got.headers, {
      host: `Shop.example.com:${port}`,
      accept: 'text/plain',
      'transfer-encoding': 'chunked',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': `Shop.example.com:${port}`,
      'x-forwarded-port': String(port),
      'x-forwarded-proto': 'http',
      'x-real-ip': '127.0.0.1',
      connection: 'close',
    });
  });
  await t.test('bodies with a length, of any size, and with Expect', async (t) => {
    const big = Buffer.alloc(1024 * 1024, 'x');
    const sent = { method: 'PUT', headers: { 'content-length': big.length, expect: '100-continue' } };
    const answer = await ask(sent, big);
    t.equal((JSON.parse(answer.text) as { body: string }).body.length, big.length);
    t.equal((await ask({ method: 'HEAD' })).status, 200);
    t.match(JSON.parse((await ask({ method: 'DELETE' })).text), { method: 'DELETE', body: '' });
  });
  await t.test('the status contains the addresses', async (t) => {
    for (;;) {
      const { status } = await cluster.api.client.resource(ingresses).get('web', { namespace: 'default' });
      if (status?.loadBalancer !== undefined) {
        t.same(status.loadBalancer.ingress, [{ ip: '192.0.2.1' }, { hostname: 'lb.example.com' }]);
        break;
      }
      await clock.sleep(10);
    }
    await untilRouted();
    const writes = cluster.api.calls.filter(({ verb }) => verb === 'patch');
    t.equal(writes.length, 1, 'the status is written once');
  });
  await t.test('metrics', async (t) => {
    const text = await metricsText(cluster.metrics);
    t.match(text, /ingress_requests_total\{ingress="default\/web",code="2xx"\} \d/);
    t.match(text, /ingress_requests_total\{ingress="",code="4xx"\} \d/);
    t.match(text, /ingress_problems 0/);
  });
  await t.test('deleting an Ingress removes its rules', async (t) => {
    await cluster.api.client.resource(ingresses).delete('web', { namespace: 'default' });
    while ((await ask()).status !== 404) await clock.sleep(10);
    t.notMatch(await metricsText(cluster.metrics), 'default/web');
  });
});

t.test('ambiguous and hostile requests are refused', async (t) => {
  const limits = { ...standardLimits, headersMs: 300, maxConnectionsPerClient: 20 };
  const { addIngress, addService, ask, port, to, untilRouted } = await setUp(t, { limits });
  const heard: string[] = [];
  const { port: backend } = await listen(t, (request, response) => {
    heard.push(request.url ?? '');
    echo(request, response);
  });
  await addService('web', backend);
  await addIngress('web', { defaultBackend: to('web') });
  await untilRouted();
  heard.length = 0;
  const rows: [why: string, text: string, status: RegExp][] = [
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx', /^HTTP\/1.1 400/],
    [
      'a length and pieces',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1.1 400/,
    ],
    [
      'an encoding that ends otherwise',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n',
      /^HTTP\/1.1 400/,
    ],
    [
      'a coding below the chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1.1 501/,
    ],
    [
      'chunks of HTTP/1.0',
      'POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1.1 400/,
    ],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', /^HTTP\/1.1 400/],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', /^HTTP\/1.1 400/],
    ['a host that is none', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', /^HTTP\/1.1 400/],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost : a\r\n\r\n', /^HTTP\/1.1 400/],
    ['a path that is none', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', /^HTTP\/1.1 400/],
    ['too many headers', `GET / HTTP/1.1\r\nHost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, /^HTTP\/1.1 431/],
    ['a tunnel', 'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n', /^$/],
    ['a mirror', 'TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', /^HTTP\/1.1 405/],
    [
      'HTTP/2 in the clear',
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\nPRI * HTTP/2.0',
      /^HTTP\/1.1 400/,
    ],
    [
      'an upgrade with a body',
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 1\r\n\r\nx',
      /^HTTP\/1.1 400/,
    ],
    ['headers that never end', 'GET / HTTP/1.1\r\nHost: a\r\n', /^HTTP\/1.1 408/],
  ];
  for (const [why, text, status] of rows) t.match(await raw(port, text), status, why);
  t.same(heard, [], 'no byte has reached the backend');
  await raw(port, 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n');
  t.equal((await ask()).status, 200, 'a body that is malformed holds up no other request');
  const granted = await raw(
    port,
    'GET /clear HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n',
  );
  t.match(granted, /^HTTP\/1.1 200/, 'an upgrade to clear-text HTTP/2 is answered over HTTP/1.1');
  t.notMatch(granted, /http2-settings/);
  const absolute = await raw(port, 'GET http://other.org/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.match(absolute, '"host":"other.org"', 'the host of an absolute URL takes precedence');
  const sockets = Array.from({ length: 30 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  t.teardown(() => sockets.map((socket) => socket.destroy()));
  await Promise.any(sockets.map((socket) => once(socket, 'close')));
  t.pass('one client has so many connections and no more');
  for (const socket of sockets) socket.destroy();
  t.equal((await ask()).status, 200);
});

t.test('failing backends', async (t) => {
  const limits = { ...standardLimits, backendMs: 300 };
  const cluster = await setUp(t, { limits });
  const { addIngress, addService, ask, to, untilRouted } = cluster;
  let busy = 0;
  const { port: alive } = await listen(t, (request, response) => {
    if (request.url === '/silent') return;
    if (request.url === '/broken') response.destroy();
    else if (request.url === '/cut')
      response.writeHead(200, { 'content-length': 10 }).write('half', () => response.destroy());
    else if (request.url === '/busy') {
      busy += 1;
      response.writeHead(503, { 'retry-after': '1' }).end('later');
    } else echo(request, response);
  });
  await addService('some', await deadPort(t), await deadPort(t), alive);
  await addService('dead', await deadPort(t));
  await addService('none');
  const rule = (service: string) => ({
    host: service,
    http: { paths: [{ path: '/', pathType: 'Prefix', backend: to(service) }] },
  });
  await addIngress('all', { rules: ['some', 'dead', 'none', 'missing'].map(rule) });
  await untilRouted({ headers: { host: 'some' } });
  for (let i = 0; i < 20; i += 1) {
    const { status, text } = await ask({ method: 'POST', headers: { host: 'some' } }, 'body');
    t.equal(status, 200, 'another endpoint is asked');
    t.equal((JSON.parse(text) as { body: string }).body, 'body', 'with the whole body');
  }
  const status = async (host: string, path = '/') => (await ask({ path, headers: { host } })).status;
  t.equal(await status('dead'), 502);
  t.equal(await status('none'), 503);
  t.equal(await status('missing'), 503);
  t.equal(await status('some', '/silent'), 504);
  t.equal(await status('some', '/broken'), 502);
  t.equal(await status('some', '/busy'), 503);
  t.equal(busy, 1, 'an answered request is not repeated');
  await t.rejects(ask({ path: '/cut', headers: { host: 'some' } }), /aborted/, 'a partial response is an error');
  const text = await metricsText(cluster.metrics);
  t.match(text, /ingress_backend_failures_total\{reason="dial"\} \d/);
  t.match(text, /ingress_backend_failures_total\{reason="silent"\} 1\n/);
  t.match(text, /ingress_problems 1\n/);
  await t.test('a backend that sends interim responses without end, or a status that is none', async (t) => {
    const interim = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
    const answers: readonly [path: string, bytes: string, status: number][] = [
      ['/some', `${interim.repeat(50)}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`, 200],
      ['/endless', interim.repeat(200), 502],
      ['/odd', 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n', 502],
    ];
    const { port: hostile } = await listen(t, ({ socket, url }) => {
      socket.write(answers.find(([path]) => path === url)?.[1] ?? '');
    });
    await addService('hostile', hostile);
    await addIngress('hostile', {
      rules: [
        { host: 'hostile.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend: to('hostile') }] } },
      ],
    });
    const headers = { host: 'hostile.example.com' };
    while ((await ask({ path: '/some', headers })).status !== 200) await clock.sleep(5);
    for (const [path, , status] of answers) {
      t.equal((await ask({ path, headers })).status, status, path);
      const upgrade = { ...headers, connection: 'Upgrade', upgrade: 'x' };
      if (status === 502 && path !== '/odd')
        t.equal((await ask({ path, headers: upgrade })).status, status, `an upgrade: ${path}`);
    }
  });
  await t.test('a kept connection that the backend has closed', async (t) => {
    const { server, port } = await listen(t, echo);
    server.keepAliveTimeout = 0;
    await addService('closing', port);
    await addIngress('closing', { rules: [rule('closing')] });
    await untilRouted({ headers: { host: 'closing' } });
    for (let i = 0; i < 20; i += 1) {
      t.equal(await status('closing'), 200);
      server.closeIdleConnections();
    }
  });
});

t.test('backends and clients that misbehave', async (t) => {
  const limits = { ...standardLimits, backendMs: 500, headersMs: 300 };
  const { addIngress, addService, ask, port, securePort, to, untilRouted } = await setUp(t, { limits });
  const gone: string[] = [];
  const { port: backend } = await listen(t, (request, response) => {
    const { url = '' } = request;
    response.once('close', () => gone.push(url));
    if (url === '/early') response.writeHead(413, 'Far Too Much').end('stop');
    else if (url === '/drop') request.once('data', () => request.socket.destroy());
    else if (url === '/half') response.writeHead(200, { 'content-length': 10 }).write('half', () => response.destroy());
    else if (url === '/hang') response.writeHead(200).write('begun');
    else echo(request, response);
  });
  await addService('web', backend);
  await addIngress('web', { defaultBackend: to('web') });
  await untilRouted();
  await t.test('methods, paths, bodies and types pass unchanged', async (t) => {
    const rows: [method: string, path: string, headers: Record<string, string>, body?: string][] = [
      ['GET', '/search', { 'content-length': '2' }, '{}'],
      ['DELETE', '/many', { 'transfer-encoding': 'chunked' }, 'all'],
      ['PROPFIND', '/dav', { depth: '1' }],
      ['QUERY', '/q', { 'content-length': '1' }, 'x'],
      ['POST', '/a/..b/%zz/{c}/"d"|e?f="g"&&h', { 'content-type': 'no type; at all' }, 'odd'],
      ['POST', '//double//slashes', { 'content-length': '0' }],
    ];
    for (const [method, path, headers, body = ''] of rows) {
      const { status, text } = await ask({ method, path, headers }, body);
      t.equal(status, 200, `${method} ${path}`);
      t.match(JSON.parse(text), { method, url: path, body, headers });
    }
  });
  await t.test('a response before the end of the body arrives, with its reason phrase', async (t) => {
    const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path: '/early' });
    request.on('error', () => undefined);
    request.write('first');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    t.match(response, { statusCode: 413, statusMessage: 'Far Too Much' });
    request.destroy();
  });
  await t.test('a client learns that its backend broke off within the body', async (t) => {
    const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path: '/drop' });
    request.on('error', () => undefined);
    request.write('first');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    t.equal(response.statusCode, 502);
    request.destroy();
  });
  await t.test('a client that disconnects cancels its request, and an upload may outlast the timeout', async (t) => {
    const request = httpRequest({ host: '127.0.0.1', port, path: '/hang' });
    request.on('error', () => undefined);
    request.end();
    await once(request, 'response');
    request.destroy();
    while (!gone.includes('/hang')) await clock.sleep(5);
    const upload = httpRequest({ host: '127.0.0.1', port, method: 'POST', path: '/upload' });
    for (let i = 0; i < 4; i += 1) {
      upload.write('x');
      await clock.sleep(200);
    }
    t.match(JSON.parse((await send(upload)).text), { body: 'xxxx' });
  });
  await t.test('over TLS, a partial response is an error for HTTP/2, and HTTP/1.1 has the same limits', async (t) => {
    const options = { host: '127.0.0.1', port: securePort, rejectUnauthorized: false };
    const session = connectHttp2(`https://127.0.0.1:${securePort}`, options);
    t.teardown(() => session.destroy());
    const stream = session.request({ ':path': '/half' });
    stream.on('error', () => undefined).resume();
    // It ends with an error, which once() would reject with.
    await new Promise((closed) => stream.once('close', closed));
    t.equal(stream.rstCode, 2, 'INTERNAL_ERROR');
    const raw = async (text: string) => {
      const socket = connectTls({ ...options, ALPNProtocols: ['http/1.1'] });
      let said = '';
      socket
        .on('error', () => undefined)
        .on('data', (chunk) => {
          said += chunk;
        });
      socket.write(text);
      await once(socket, 'close');
      return said;
    };
    t.match(await raw('GET / HTTP/1.1\r\nHost: a\r\n'), /^HTTP\/1.1 408/);
    t.match(await raw('GET / HTTP/1.1\r\n\r\n'), /^HTTP\/1.1 400/);
    t.match(await raw(`GET / HTTP/1.1\r\nHost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`), /^HTTP\/1.1 431/);
    t.match(await raw('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'), /^HTTP\/1.1 200/);
  });
});

t.test('one client and one service leave room for others', async (t) => {
  const limits = { ...standardLimits, maxRequests: 40 };
  const trusted = parseCIDR('127.0.0.2/32');
  const { addIngress, addService, metrics, port, securePort, to, untilRouted } = await setUp(t, {
    limits,
    trustedProxies: trusted === undefined ? [] : [trusted],
  });
  let waiting = 0;
  const { port: silent } = await listen(t, (_request, response) => {
    waiting += 1;
    response.once('close', () => {
      waiting -= 1;
    });
  });
  const { port: backend } = await listen(t, echo);
  await addService('silent', silent);
  await addService('web', backend);
  await addIngress('web', {
    rules: [
      { host: 'silent.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend: to('silent') }] } },
      { host: 'web.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend: to('web') }] } },
    ],
  });
  const askFrom = (localAddress: string, host: string) =>
    send(httpRequest({ host: '127.0.0.1', port, localAddress, headers: { host } }));
  await untilRouted({ headers: { host: 'web.example.com' } });
  const untilWaiting = async (count: number) => {
    while (waiting !== count) await clock.sleep(5);
  };
  const request = 'GET / HTTP/1.1\r\nHost: silent.example.com\r\n\r\n';

  await t.test('a client that does not wait for responses', async (t) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write(request.repeat(8));
    await untilWaiting(8);
    t.equal((await askFrom('127.0.0.3', 'web.example.com')).status, 200, 'another client');
    t.equal((await askFrom('127.0.0.1', 'web.example.com')).status, 429, 'this client');
    socket.destroy();
    await untilWaiting(0);
    t.equal((await askFrom('127.0.0.1', 'web.example.com')).status, 200, 'all of its requests end with the connection');
    const flood = connect(port, '127.0.0.1').on('error', () => undefined);
    flood.write(request.repeat(1000));
    flood.resume();
    await once(flood, 'close');
    await untilWaiting(0);
    t.equal((await askFrom('127.0.0.1', 'web.example.com')).status, 200, 'one that sends more is disconnected');
    t.match(await metricsText(metrics), /ingress_rejected_requests_total\{limit="client"\} \d+/);
  });

  await t.test('a client with streams over several connections', async (t) => {
    const sessions = Array.from({ length: 3 }, () =>
      connectHttp2(`https://127.0.0.1:${securePort}`, { rejectUnauthorized: false }),
    );
    const statuses: number[] = [];
    const answered = deferred();
    for (const session of sessions) {
      session.on('error', () => undefined);
      for (let i = 0; i < 20; i += 1) {
        const stream = session.request({ ':authority': 'silent.example.com' });
        stream.on('error', () => undefined);
        stream.once('response', ({ ':status': status = 0 }) => {
          statuses.push(status);
          if (statuses.length === 52) answered.resolve();
        });
      }
    }
    await answered.promise;
    t.same(new Set(statuses), new Set([429]), 'more requests are refused');
    await untilWaiting(8);
    t.equal(waiting, 8, 'requests in progress');
    for (const session of sessions) session.destroy();
    await untilWaiting(0);
  });

  await t.test('a service that never answers', async (t) => {
    const agents = Array.from({ length: 33 }, () => connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }));
    const refused = deferred<string>();
    for (const agent of agents) {
      agent.on('error', () => undefined);
      agent.once('data', (chunk) => refused.resolve(chunk.toString()));
      agent.write(request);
    }
    t.match(
      await refused.promise,
      /^HTTP\/1.1 503 [\s\S]*too many requests wait for service default\/silent/,
      'one too many',
    );
    await untilWaiting(32);
    t.equal((await askFrom('127.0.0.2', 'web.example.com')).status, 200, 'another service');
    for (const agent of agents) agent.destroy();
    await untilWaiting(0);
  });
});

t.test('requests are balanced over the endpoints', async (t) => {
  const { addIngress, addService, ask, to, untilRouted } = await setUp(t);
  const counts = [0, 0, 0];
  const ports = await Promise.all(
    counts.map(async (_, i) => {
      const { port } = await listen(t, (_request, response) => {
        counts[i] = (counts[i] ?? 0) + 1;
        response.end();
      });
      return port;
    }),
  );
  await addService('web', ...ports);
  await addIngress('web', { defaultBackend: to('web') });
  await untilRouted();
  for (let i = 0; i < 60; i += 1) await ask();
  for (const count of counts) t.ok(count > 3, `${counts}`);
});

t.test('upgraded connections', async (t) => {
  const { addIngress, addService, port, to, untilRouted, metrics } = await setUp(t);
  const { server, port: backend } = await listen(t, echo);
  server.on('upgrade', (request, socket, head) => {
    if (request.url === '/no') {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
      return;
    }
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\nX-For: ${request.headers['x-forwarded-for']}\r\n\r\n`,
    );
    socket.write(head);
    socket.pipe(socket);
  });
  await addService('web', backend, await deadPort(t), await deadPort(t));
  await addIngress('web', { defaultBackend: to('web') });
  await untilRouted();
  const upgrade = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n`;
  for (let i = 0; i < 5; i += 1) {
    const socket = connect(port, '127.0.0.1');
    let said = '';
    socket.on('data', (chunk) => {
      said += chunk;
    });
    socket.write(`${upgrade('/chat')}early `);
    while (!said.includes('early')) await once(socket, 'data');
    t.match(said, /^HTTP\/1.1 101 .*\r\nx-for: 127.0.0.1\r\n/is);
    socket.write('late');
    while (!said.includes('late')) await once(socket, 'data');
    socket.end();
    await once(socket, 'close');
  }
  t.match(await raw(port, upgrade('/no')), /^HTTP\/1.1 403 Forbidden\r\n.*no$/s, 'a refusal is an ordinary response');
  t.match(await metricsText(metrics), /ingress_upgrades_total\{ingress="default\/web"\} 5/);
});

t.test('TLS', async (t) => {
  const cluster = await setUp(t);
  const { addIngress, addService, api, ask, port, securePort, to, untilRouted } = cluster;
  const { port: backend } = await listen(t, echo);
  await addService('web', backend);
  // Its type differs from that of the controller's own key.
  const keys = await generateRsaKey();
  const secret = async (name: string, ...names: string[]) => {
    const identity = await createSelfSigned({ commonName: name, names, ips: [], now: Date.now(), keys });
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    return {
      metadata: { name, namespace: 'default' },
      type: dialect.secretTypes.tls,
      data: { 'tls.crt': base64(identity.certificate), 'tls.key': base64(identity.privateKey) },
    } as Secret;
  };
  await api.client.resource(secrets).create(await secret('shop', 'shop.example.com'));
  const paths = [{ path: '/', pathType: 'Prefix', backend: to('web') }];
  await addIngress('shop', {
    tls: [
      { hosts: ['shop.example.com'], secretName: 'shop' },
      { hosts: ['*.wild.com'], secretName: 'wild' },
    ],
    rules: [
      { host: 'shop.example.com', http: { paths } },
      { host: 'a.wild.com', http: { paths } },
      { host: 'plain.org', http: { paths } },
    ],
  });
  await untilRouted({ headers: { host: 'plain.org' } });

  /** The common name of the presented certificate. */
  const served = async (servername: string) => {
    const socket = connectTls({ host: '127.0.0.1', port: securePort, servername, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const name = String(socket.getPeerCertificate().subject.CN);
    socket.destroy();
    return name.split('@')[0];
  };
  t.equal(await served('shop.example.com'), 'shop');
  t.equal(await served('SHOP.example.com'), 'shop');
  t.equal(await served('a.wild.com'), 'ingress', "without a secret the controller's own certificate is used");
  await api.client.resource(secrets).create(await secret('wild', '*.wild.com'));
  while ((await served('a.wild.com')) !== 'wild') await clock.sleep(10);
  t.equal(await served('a.b.wild.com'), 'ingress');

  const redirect = await ask({ path: '/a?b', headers: { host: `shop.example.com:${port}` } });
  t.match(redirect, { status: 308, headers: { location: `https://shop.example.com:${securePort}/a?b` } });
  const options = { host: '127.0.0.1', port: securePort, servername: 'shop.example.com', rejectUnauthorized: false };
  const secure = await send(httpsRequest({ ...options, headers: { host: 'shop.example.com' } }));
  t.match(JSON.parse(secure.text), {
    headers: { 'x-forwarded-proto': 'https', 'x-forwarded-port': String(securePort) },
  });

  await t.test('HTTP/2', async (t) => {
    const session = connectHttp2('https://shop.example.com', {
      createConnection: () => connectTls({ ...options, ALPNProtocols: ['h2'] }),
    });
    t.teardown(() => session.destroy());
    const ask = async (headers: object, body = '') => {
      const stream = session.request({ ':authority': 'shop.example.com', ...headers });
      if (body !== '') stream.end(body);
      const [head] = (await once(stream, 'response')) as [Record<string, string>];
      let text = '';
      for await (const part of stream) text += part;
      return { head, text };
    };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        ask({ ':method': 'POST', ':path': `/${i}`, cookie: 'a=1; b=2' }, `body ${i}`),
      ),
    );
    for (const [i, { head, text }] of answers.entries()) {
      t.equal(head[':status'], 200);
      t.match(JSON.parse(text), {
        url: `/${i}`,
        body: `body ${i}`,
        headers: { host: 'shop.example.com', cookie: 'a=1; b=2' },
      });
    }
    t.match(JSON.parse((await ask({ ':path': '/get' })).text), { method: 'GET', body: '' });
    t.equal((await ask({ ':path': '/', host: 'other.org' })).head[':status'], 400, 'one host, not two');
    t.equal((await ask({ ':path': '/', ':authority': 'unknown.org' })).head[':status'], 404);
  });
});

t.test('trusted proxies', async (t) => {
  const trusted = parseCIDR('127.0.0.0/8');
  const { addIngress, addService, ask, to, untilRouted } = await setUp(t, {
    trustedProxies: trusted === undefined ? [] : [trusted],
  });
  const { port: backend } = await listen(t, echo);
  await addService('web', backend);
  await addIngress('web', {
    tls: [{}],
    defaultBackend: to('web'),
    rules: [{ host: 'a', http: { paths: [{ path: '/', pathType: 'Prefix', backend: to('web') }] } }],
  });
  const headers = {
    host: 'a',
    'x-forwarded-for': '198.51.100.7',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'b',
  };
  const { text } = await untilRouted({ headers });
  t.match(JSON.parse(text), {
    headers: { 'x-forwarded-for': '198.51.100.7, 127.0.0.1', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'b' },
  });
  t.equal(
    (await ask({ headers: { host: 'a' } })).status,
    308,
    'requests that reached the proxy over HTTP are redirected to HTTPS',
  );
});

t.test('running requests complete before the controller ends', async (t) => {
  const { addIngress, addService, ask, controller, port, to, untilRouted } = await setUp(t);
  const { port: backend } = await listen(t, (request, response) => {
    if (request.url !== '/slow') response.end();
    else setTimeout(() => response.end('done'), 200);
  });
  await addService('web', backend);
  await addIngress('web', { defaultBackend: to('web') });
  await untilRouted();
  const slow = ask({ path: '/slow' });
  await clock.sleep(50);
  const closed = controller.close();
  t.equal((await slow).text, 'done');
  await closed;
  await t.rejects(send(httpRequest({ host: '127.0.0.1', port, agent: false })), /ECONNREFUSED/);
});

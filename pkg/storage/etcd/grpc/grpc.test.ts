import { once } from 'node:events';
import { createServer, type Http2Server, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { FrameReader, frameMessage } from '#http/grpc/frames.js';
import { decodeMessage, encodeMessage, GrpcError, grpcStatus, statusOfHttp } from '#http/grpc/status.js';
import { answerLimits } from '#storage/etcd/grpc/call.js';
import { GrpcEndpoint } from '#storage/etcd/grpc/endpoint.js';

const message = Buffer.from('hello');

void t.test('messages split at any byte', async (t) => {
  const messages = [message, Buffer.alloc(0), Buffer.alloc(300, 'x')];
  const bytes = Buffer.concat(messages.map(frameMessage));
  for (const size of [1, 2, 5, 6, 7, 100, bytes.length]) {
    const reader = new FrameReader(answerLimits);
    const messagesRead: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) messagesRead.push(...reader.push(bytes.subarray(at, at + size)));
    t.same(messagesRead, messages, `chunks of ${size}`);
    t.ok(reader.complete);
  }
});

void t.test('refused frames', async (t) => {
  t.throws(() => new FrameReader(answerLimits).push(Buffer.from([1, 0, 0, 0, 1, 0])), { code: grpcStatus.INTERNAL });
  t.throws(() => new FrameReader(answerLimits).push(Buffer.from([0, 255, 255, 255, 255])), {
    code: grpcStatus.RESOURCE_EXHAUSTED,
  });
});

void t.test('messages and HTTP statuses', async (t) => {
  t.equal(decodeMessage('a%20b%C3%A9'), 'a bé');
  t.equal(decodeMessage('100%'), '100%');
  t.equal(encodeMessage('a bé\n100%'), 'a b%C3%A9%0A100%25');
  t.equal(statusOfHttp(503), grpcStatus.UNAVAILABLE);
  t.equal(statusOfHttp(418), grpcStatus.UNKNOWN);
});

type Answer = (stream: ServerHttp2Stream, request: Buffer) => void;

async function serve(t: Test, answer: Answer): Promise<{ server: Http2Server; url: string }> {
  const server = createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    const reader = new FrameReader(answerLimits);
    stream.on('data', (chunk: Buffer) => {
      for (const request of reader.push(chunk)) answer(stream, request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function endpointAt(t: Test, url: string, clock: Clock = realClock): GrpcEndpoint {
  const endpoint = new GrpcEndpoint({ url, clock, random: () => 0.5 });
  t.teardown(() => endpoint.close());
  return endpoint;
}

function respond(stream: ServerHttp2Stream, body: Buffer[], trailers: OutgoingHttpHeaders): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  for (const part of body) stream.write(frameMessage(part));
  stream.end();
}

function failure(promise: Promise<unknown>): Promise<GrpcError | undefined> {
  return promise.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof GrpcError) return error;
      throw error;
    },
  );
}

const call = { path: '/test.Echo/Echo', request: message, timeoutMs: 10_000 };

void t.test('a response', async (t) => {
  const { url } = await serve(t, (stream, request) => respond(stream, [request], { 'grpc-status': '0' }));
  const endpoint = endpointAt(t, url);
  t.same(await endpoint.unary(call), message);
  const large = Buffer.alloc(5 * 1024 * 1024, 'y');
  t.same(await endpoint.unary({ ...call, request: large }), large, 'larger than the usual limit');
  t.same(await Promise.all(Array.from({ length: 300 }, () => endpoint.unary(call))), Array(300).fill(message));
});

void t.test('errors of the server', async (t) => {
  const answers: Record<string, Answer> = {
    '/status': (stream) => respond(stream, [], { 'grpc-status': '11', 'grpc-message': 'too%20old' }),
    '/only-headers': (stream) => stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true }),
    '/proxy': (stream) => stream.respond({ ':status': 502 }, { endStream: true }),
    '/nothing': (stream) => respond(stream, [], { 'grpc-status': '0' }),
    '/reset': (stream) => stream.close(2),
    '/refused': (stream) => stream.close(7),
  };
  const paths: string[] = [];
  const { server, url } = await serve(t, (stream) => answers[paths.shift() ?? '']?.(stream, message));
  server.on('stream', (_stream, headers) => paths.push(String(headers[':path'])));
  const endpoint = endpointAt(t, url);
  const rows: [string, number, string?][] = [
    ['/status', grpcStatus.OUT_OF_RANGE, 'too old'],
    ['/only-headers', grpcStatus.NOT_FOUND, ''],
    ['/proxy', grpcStatus.UNAVAILABLE],
    ['/nothing', grpcStatus.INTERNAL],
    ['/reset', grpcStatus.UNAVAILABLE],
    ['/refused', grpcStatus.UNAVAILABLE],
  ];
  for (const [path, code, details] of rows) {
    const error = await failure(endpoint.unary({ ...call, path }));
    t.equal(error?.code, code, path);
    if (details !== undefined) t.equal(error?.details, details, path);
    t.equal(error?.sent, path !== '/refused', path);
  }
});

void t.test('deadlines and cancellation', async (t) => {
  const { server, url } = await serve(t, () => undefined);
  const endpoint = endpointAt(t, url);
  t.equal((await failure(endpoint.unary({ ...call, timeoutMs: 1 })))?.code, grpcStatus.DEADLINE_EXCEEDED);
  const controller = new AbortController();
  server.once('stream', (stream) => {
    stream.once('data', () => controller.abort());
  });
  const error = await failure(endpoint.unary({ ...call, signal: controller.signal }));
  t.equal(error?.code, grpcStatus.CANCELLED);
});

void t.test('a server that stops and starts', async (t) => {
  const first = await serve(t, () => undefined);
  const { port } = first.server.address() as AddressInfo;
  first.server.close();
  await once(first.server, 'close');
  // The pause ends when the test says so, however busy the machine is.
  let stoppedAtMs: number | undefined = realClock.monotonic();
  const endpoint = endpointAt(t, first.url, { ...realClock, monotonic: () => stoppedAtMs ?? realClock.monotonic() });
  const refused = await failure(endpoint.unary(call));
  t.match(refused, { code: grpcStatus.UNAVAILABLE, sent: false });
  t.notOk(endpoint.usable, 'a pause follows');
  t.match(await failure(endpoint.unary(call)), { code: grpcStatus.UNAVAILABLE, sent: false });
  stoppedAtMs = undefined;

  const server = createServer();
  const sessions: { destroy(): void }[] = [];
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (headers[':path'] === '/cut') for (const session of sessions) session.destroy();
    else respond(stream, [message], { 'grpc-status': '0' });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const answered = async () => {
    for (;;) {
      if (endpoint.usable && (await failure(endpoint.unary(call))) === undefined) return;
      await realClock.sleep(5);
    }
  };
  await answered();
  t.match(await failure(endpoint.unary({ ...call, path: '/cut' })), { code: grpcStatus.UNAVAILABLE, sent: true });
  await answered();
  endpoint.close();
  t.match(await failure(endpoint.unary(call)), { code: grpcStatus.UNAVAILABLE, sent: false });
});

void t.test('a bidirectional stream', async (t) => {
  const { url } = await serve(t, (stream, request) => {
    if (!stream.headersSent) {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '14', 'grpc-message': 'no leader' }));
    }
    if (request.length === 0) stream.end();
    else stream.write(Buffer.concat([frameMessage(request), frameMessage(request)]));
  });
  const endpoint = endpointAt(t, url);
  const stream = await endpoint.stream('/test.Echo/Stream', { hasleader: 'true' });
  stream.write(message);
  const seen: Buffer[] = [];
  const error = await failure(
    (async () => {
      for await (const part of stream) {
        seen.push(part);
        if (seen.length === 2) stream.write(Buffer.alloc(0));
      }
    })(),
  );
  t.same(seen, [message, message]);
  t.match(error, { code: grpcStatus.UNAVAILABLE, details: 'no leader' });

  const left = await endpoint.stream('/test.Echo/Stream', {});
  left.write(message);
  for await (const part of left) {
    t.same(part, message);
    break;
  }
  t.throws(() => new GrpcEndpoint({ url: 'unix:/x', clock: realClock, random: () => 0 }), TypeError);
});

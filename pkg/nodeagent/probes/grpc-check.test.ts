import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer as createTCPServer } from 'node:net';
import t, { type Test } from 'tap';
import { checkGRPC } from '#nodeagent/probes/grpc-check.js';
import { freePort } from '#test/free-port.js';

const message = (...bytes: number[]) => Buffer.from([0, 0, 0, 0, bytes.length, ...bytes]);
const grpc = { ':status': 200, 'content-type': 'application/grpc' };

/** A server that passes every call to `answer`; resolves with a check of it. */
async function server(t: Test, answer: (stream: ServerHttp2Stream, request: Buffer) => void) {
  const listening = createServer().listen(0, '127.0.0.1');
  listening.on('stream', (stream) => {
    const parts: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => answer(stream, Buffer.concat(parts)));
  });
  await once(listening, 'listening');
  t.teardown(() => listening.close());
  const { port } = listening.address() as AddressInfo;
  return (service = '', timeoutMs = 30_000) => checkGRPC({ host: '127.0.0.1', port, service, timeoutMs }, 'probe');
}

function respond(stream: ServerHttp2Stream, body: Buffer, trailers: Record<string, string>): void {
  stream.respond(grpc, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(body);
}

t.test('a serving server passes the check', async (t) => {
  const requests: Buffer[] = [];
  const check = await server(t, (stream, request) => {
    requests.push(request);
    respond(stream, message(0x08, 1), { 'grpc-status': '0' });
  });
  t.same(await check(), { success: true, output: 'service healthy' });
  t.match(await check('a'.repeat(200)), { success: true });
  t.same(requests, [
    message(),
    Buffer.concat([Buffer.from([0, 0, 0, 0, 203, 0x0a, 0xc8, 1]), Buffer.from('a'.repeat(200))]),
  ]);
});

t.test('servers with other statuses fail the check', async (t) => {
  for (const [status, name] of [
    [0, 'UNKNOWN'],
    [2, 'NOT_SERVING'],
    [3, 'SERVICE_UNKNOWN'],
  ] as const) {
    const body = status === 0 ? message() : message(0x08, status);
    const check = await server(t, (stream) => respond(stream, body, { 'grpc-status': '0' }));
    t.match(await check(), { success: false, output: `service unhealthy (responded with "${name}")` });
  }
});

t.test('failing calls have the outputs of 1.24', async (t) => {
  for (const [headers, output] of [
    [
      { ...grpc, 'grpc-status': '12', 'grpc-message': 'unknown service%21' },
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service!',
    ],
    [
      { ...grpc, 'grpc-status': '5', 'grpc-message': '100%' },
      'error: health rpc probe failed: rpc error: code = NotFound desc = 100%',
    ],
    [
      { ':status': 404 },
      'error: health rpc probe failed: rpc error: code = Unknown desc = unexpected HTTP status code received from server: 404',
    ],
  ] as const) {
    const check = await server(t, (stream) => stream.respond(headers, { endStream: true }));
    t.match(await check(), { success: false, output });
  }
  const reset = await server(t, (stream) => stream.close(2));
  t.match(await reset(), { success: false, output: /^error: health rpc probe failed: rpc error: code = Unavailable/ });
});

t.test('an endless or missing response times out', async (t) => {
  const endless = await server(t, (stream) => {
    stream.respond(grpc);
    const more = () => {
      while (!stream.destroyed && stream.write(Buffer.alloc(16_384)));
    };
    stream.on('drain', more);
    more();
  });
  // A slow machine may not even connect in that time.
  const late = /^timeout: (health rpc did not complete|failed to connect service .*) within 500ms/;
  t.match(await endless('', 500), { success: false, output: late });
  const silent = await server(t, () => undefined);
  t.match(await silent('', 500), { success: false, output: late });
});

t.test('a missing server and one of another protocol time out', async (t) => {
  const other = createTCPServer((socket) => {
    socket.on('error', () => undefined);
    socket.resume();
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const late = (address: string) =>
    `timeout: failed to connect service "${address}" within 300ms: context deadline exceeded`;
  const check = { host: '127.0.0.1', port, service: '', timeoutMs: 300 };
  t.match(await checkGRPC(check, 'probe'), { success: false, output: late(`127.0.0.1:${port}`) });
  other.close();
  await once(other, 'close');
  t.match(await checkGRPC(check, 'probe'), { success: false, output: late(`127.0.0.1:${port}`) });
  t.match(await checkGRPC({ ...check, host: '::1', port: 1 }, 'probe'), { success: false, output: late('[::1]:1') });
});

t.test('a server that starts during the check is reached', async (t) => {
  const port = await freePort();
  const checked = checkGRPC({ host: '127.0.0.1', port, service: 'good', timeoutMs: 60_000 }, 'probe');
  // The check's first attempt has failed before this resolves.
  await new Promise((resolve) => connect({ host: '127.0.0.1', port }).once('error', resolve));
  const listening = createServer().listen(port, '127.0.0.1');
  listening.on('stream', (stream) => respond(stream, message(0x08, 1), { 'grpc-status': '0' }));
  t.teardown(() => listening.close());
  t.match(await checked, { success: true });
});

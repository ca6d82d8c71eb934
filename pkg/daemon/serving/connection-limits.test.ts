/** Limits of a daemon's server for each client: idle connections, endless headers and endless requests. */
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { get, startServer } from '#daemon/serving/testing/server-fixture.js';

/** What the server sends on a connection until its end. */
async function raw(t: Test, port: number): Promise<{ socket: TLSSocket; closed: Promise<unknown>; text(): string }> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (part: string) => {
    text += part;
  });
  // A write after the server has ended the connection may fail before the end arrives.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  t.teardown(() => socket.destroy());
  await once(socket, 'secureConnect');
  return { socket, closed, text: () => text };
}

t.test('idle and slow connections are closed', async (t) => {
  const limits = { idleMs: 120, headersMs: 300, requestMs: 400, handshakeMs: 200 };
  const { port } = await startServer(t, [], { clock: realClock, limits });

  await t.test('after a response', async (t) => {
    const { socket, closed, text } = await raw(t, port);
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    await closed;
    t.match(text(), /^HTTP\/1\.1 200 OK/);
  });

  await t.test('with incomplete headers or none', async (t) => {
    const { socket, closed, text } = await raw(t, port);
    const drip = setInterval(() => socket.write('x-a: b\r\n'), 20);
    t.teardown(() => clearInterval(drip));
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n');
    await closed;
    t.match(text(), /^HTTP\/1\.1 408 Request Timeout/);
    const silent = await raw(t, port);
    await silent.closed;
  });

  await t.test('with an incomplete body', async (t) => {
    const { socket, closed } = await raw(t, port);
    const drip = setInterval(() => socket.write('a'), 20);
    t.teardown(() => clearInterval(drip));
    socket.write('POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n');
    await closed;
  });

  await t.test('without a handshake', async () => {
    const socket = connectTcp(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    await once(socket, 'close');
  });
});

t.test('excess connections are closed', async (t) => {
  const { port } = await startServer(t, [], { clock: realClock, limits: { connections: 2 } });
  const first = await raw(t, port);
  await raw(t, port);
  const third = connectTcp(port, '127.0.0.1');
  third.on('error', () => undefined);
  third.resume();
  await once(third, 'close');
  first.socket.destroy();
  // The server notices it late.
  for (;;) {
    const answer = await get(port, '/healthz').catch(() => undefined);
    if (answer?.status === 200) break;
  }
});

t.test('oversized headers are refused', async (t) => {
  const { port } = await startServer(t, [], { clock: realClock });
  const { socket, closed, text } = await raw(t, port);
  socket.write(`GET /healthz HTTP/1.1\r\nHost: a\r\nx-a: ${'b'.repeat(65 * 1024)}\r\n\r\n`);
  await closed;
  // The 431 response is lost if the connection is reset because of unread bytes.
  t.notMatch(text(), /^HTTP\/1\.1 200 /);
  const token = 'b'.repeat(40 * 1024);
  t.equal((await get(port, '/healthz', { headers: { 'x-a': token } })).status, 200, 'long tokens are accepted');
});

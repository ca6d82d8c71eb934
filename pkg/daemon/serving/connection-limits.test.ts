/** What one client may take of a daemon's server: connections that carry nothing, headers and requests without an end. */
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { get, startServer } from '#daemon/serving/testing/server-fixture.js';

/** What the server sends on a connection, and its end. */
async function raw(t: Test, port: number): Promise<{ socket: TLSSocket; closed: Promise<unknown>; text(): string }> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (part: string) => {
    text += part;
  });
  // What is written when the server has ended the connection fails, now and then before its end is told.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  t.teardown(() => socket.destroy());
  await once(socket, 'secureConnect');
  return { socket, closed, text: () => text };
}

t.test('connections that carry nothing are ended', async (t) => {
  const limits = { idleMs: 120, headersMs: 300, requestMs: 400, handshakeMs: 200 };
  const { port } = await startServer(t, [], { clock: realClock, limits });

  await t.test('after an answer', async (t) => {
    const { socket, closed, text } = await raw(t, port);
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    await closed;
    t.match(text(), /^HTTP\/1\.1 200 OK/);
  });

  await t.test('headers that do not come to an end, and none at all', async (t) => {
    const { socket, closed, text } = await raw(t, port);
    const drip = setInterval(() => socket.write('x-a: b\r\n'), 20);
    t.teardown(() => clearInterval(drip));
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n');
    await closed;
    t.match(text(), /^HTTP\/1\.1 408 Request Timeout/);
    const silent = await raw(t, port);
    await silent.closed;
  });

  await t.test('a body that does not come to an end', async (t) => {
    const { socket, closed } = await raw(t, port);
    const drip = setInterval(() => socket.write('a'), 20);
    t.teardown(() => clearInterval(drip));
    socket.write('POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n');
    await closed;
  });

  await t.test('no handshake', async () => {
    const socket = connectTcp(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    await once(socket, 'close');
  });
});

t.test('no more connections than there is room for', async (t) => {
  const { port } = await startServer(t, [], { clock: realClock, limits: { connections: 2 } });
  const first = await raw(t, port);
  await raw(t, port);
  const third = connectTcp(port, '127.0.0.1');
  third.on('error', () => undefined);
  third.resume();
  await once(third, 'close');
  first.socket.destroy();
  // The server hears of it when it does.
  for (;;) {
    const answer = await get(port, '/healthz').catch(() => undefined);
    if (answer?.status === 200) break;
  }
});

t.test('headers that are too large', async (t) => {
  const { port } = await startServer(t, [], { clock: realClock });
  const { socket, closed, text } = await raw(t, port);
  socket.write(`GET /healthz HTTP/1.1\r\nHost: a\r\nx-a: ${'b'.repeat(65 * 1024)}\r\n\r\n`);
  await closed;
  // The answer, 431, is lost where the connection is reset with bytes that nobody has read.
  t.notMatch(text(), /^HTTP\/1\.1 200 /);
  const token = 'b'.repeat(40 * 1024);
  t.equal((await get(port, '/healthz', { headers: { 'x-a': token } })).status, 200, 'long tokens are taken');
});

import { createServer as createPlain, type Server } from 'node:net';
import { connect, createServer } from 'node:tls';
import t, { type Test } from 'tap';
import { reasonOf } from '#apiserver/service-routing/dial-failure.js';

async function reasonOfHandshake(t: Test, server: Server): Promise<string> {
  t.teardown(() => server.close());
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  const error = await new Promise((resolve) => socket.once('error', resolve));
  return reasonOf(error, 'there:443');
}

t.test('a handshake that fails is told in words for users', async (t) => {
  // It has no certificate yet, as servers that make their own at first.
  t.match(await reasonOfHandshake(t, createServer()), /^remote error: tls: handshake failure$/);
  const plain = createPlain((socket) => socket.on('error', () => undefined).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  t.equal(await reasonOfHandshake(t, plain), 'http: server gave HTTP response to HTTPS client');
  const text =
    'write EPROTO 80:error:0A000438:SSL routines:ssl3_read_bytes:tlsv1 alert internal error:../a.c:1601:SSL\n';
  t.equal(reasonOf(new Error(text), 'there:443'), 'remote error: tls: internal error');
  t.equal(
    reasonOf(new Error('80:error:1:SSL routines:f:no ciphers available:a.c:1:'), ''),
    'tls: no ciphers available',
  );
});

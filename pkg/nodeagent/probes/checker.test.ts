import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import { checkTCP } from '#nodeagent/probes/checker.js';

const host = '127.0.0.1';
/** Longer than any machine needs. */
const plenty = 60_000;

t.test('an accepted TCP connection is a success', async (t) => {
  const server = createServer((socket) => socket.end()).listen(0, host);
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  t.same(await checkTCP(host, port, plenty), { success: true, output: '' });
});

t.test('TCP failures have the messages of 1.24', async (t) => {
  t.match(await checkTCP(host, 1, plenty), { output: 'dial tcp 127.0.0.1:1: connect: connection refused' });
  t.match(await checkTCP('::1', 1, plenty), { success: false, output: /^dial tcp \[::1\]:1: connect: / });
});

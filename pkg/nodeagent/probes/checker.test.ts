import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import type { CRI } from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { type CheckTarget, checkTCP, RuntimeChecker } from '#nodeagent/probes/checker.js';

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

t.test('a command that takes too long fails, and says nothing with the gate off', async (t) => {
  const late = new CRIError('DeadlineExceeded', 'context deadline exceeded');
  const cri = { execSync: () => Promise.reject(late) } as unknown as CRI;
  const target = { container: { name: 'c' }, containerId: 'id', podIP: '' } as unknown as CheckTarget;
  const check = (execTimeouts?: boolean) =>
    new RuntimeChecker(cri, 'agent', execTimeouts).check({ exec: { command: ['sleep', '9'] } }, target, 1000);
  const output = 'command "sleep 9" timed out';
  t.same(await check(), { success: false, output });
  t.same(await check(false), { success: false, isUnknown: true, output });
});

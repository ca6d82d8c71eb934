import { createServer } from 'node:http2';
import { type AddressInfo, createServer as createTCP } from 'node:net';
import t, { type Test } from 'tap';
import { checkGRPC, checkTCP } from '#nodeagent/probes/network.js';
import { serveHealth } from '#nodeagent/testing/health-server.js';

const host = '127.0.0.1';
/** Longer than any machine takes to answer. */
const plenty = 60_000;

async function listening(t: Test, server: ReturnType<typeof createTCP>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

t.test('a connection that is accepted is enough', async (t) => {
  const open = await listening(
    t,
    createTCP((socket) => socket.end()),
  );
  t.same(await checkTCP(host, open, plenty), { success: true, output: '' });
  t.same(await checkTCP(host, 1, plenty), {
    success: false,
    output: 'dial tcp 127.0.0.1:1: connect: connection refused',
  });
});

t.test('the health service decides, in the words of 1.24', async (t) => {
  const long = 'x'.repeat(300);
  const port = await serveHealth(t, { '': 1, [long]: 1, lame: 2, new: 0, gone: 3, silent: undefined });
  const check = (service: string, timeoutMs = plenty) => checkGRPC({ host, port, service, agent: 'probe' }, timeoutMs);
  const healthy = { success: true, output: 'service healthy' };
  t.same(await check(''), healthy);
  t.same(await check(long), healthy, 'a name of any length');
  const failed = async (service: string, timeoutMs?: number) => {
    const { success, output } = await check(service, timeoutMs);
    t.notOk(success, service);
    return output;
  };
  t.equal(await failed('lame'), 'service unhealthy (responded with "NOT_SERVING")');
  t.equal(await failed('new'), 'service unhealthy (responded with "UNKNOWN")');
  t.equal(await failed('gone'), 'service unhealthy (responded with "SERVICE_UNKNOWN")');
  t.equal(await failed('nobody'), 'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service');
  // A slow machine may not even connect in that time.
  t.match(
    await failed('silent', 1000),
    /^timeout: (health rpc did not complete|failed to connect service .*) within 1s/,
  );
});

t.test('a server of another kind, and none at all', async (t) => {
  const other = createServer((_, response) => {
    response.stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' },
      { endStream: true },
    );
  });
  await new Promise<void>((resolve) => other.listen(0, host, resolve));
  t.teardown(() => other.close());
  const { port } = other.address() as AddressInfo;
  const { output } = await checkGRPC({ host, port, service: '', agent: 'probe' }, plenty);
  t.match(output, /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /);
  const nobody = await checkGRPC({ host: '::1', port: 1, service: '', agent: 'probe' }, 300);
  t.same(nobody, {
    success: false,
    output: 'timeout: failed to connect service "[::1]:1" within 300ms: context deadline exceeded',
  });
});

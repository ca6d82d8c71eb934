import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { checkHTTP } from '#nodeagent/probes/network.js';

t.test('an HTTP check judges by the status, and waits for no endless body', async (t) => {
  const server = createServer((request, response) => {
    response.statusCode = Number(request.url?.slice(1, 4));
    if (request.url?.endsWith('endless') !== true) {
      response.end('said');
      return;
    }
    const more = () => {
      while (response.write('x'.repeat(1000)));
    };
    response.on('drain', more);
    more();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const check = (path: string) =>
    checkHTTP({ scheme: 'http', host: '127.0.0.1', port, path, headers: [], timeoutMs: 60_000 }, 'probe');
  t.same(await check('/200'), { success: true, output: 'said' });
  t.same(await check('/503'), { success: false, output: 'HTTP probe failed with statuscode: 503' });
  const { success, output } = await check('/200endless');
  t.equal(success, true);
  t.equal(output.length, 10 * 1024);
  t.equal((await check('/500endless')).success, false);
});

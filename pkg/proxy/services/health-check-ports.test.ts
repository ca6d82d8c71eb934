import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { HealthCheckPorts } from '#proxy/services/health-check-ports.js';

t.test('a port reports its service, and another service may take it over immediately', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  const ports = new HealthCheckPorts(log);
  /** Repeats the request until this service answers. */
  const answered = async (name: string) => {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}/any/path`).catch(() => undefined);
      const body = (await answer?.json()) as { service: { name: string }; localEndpoints: number } | undefined;
      if (body?.service.name === name) return { status: answer?.status, localEndpoints: body.localEndpoints };
      await clock.sleep(5);
    }
  };
  const check = { namespace: 'default', name: 'a', port, localEndpoints: 2 };
  ports.set('default/a', check);
  t.same(await answered('a'), { status: 200, localEndpoints: 2 });
  ports.set('default/a', { ...check, localEndpoints: 0 });
  t.same(await answered('a'), { status: 503, localEndpoints: 0 });
  ports.set('default/a', undefined);
  ports.set('default/b', { ...check, name: 'b' });
  t.same(await answered('b'), { status: 200, localEndpoints: 2 });
  await ports.close();
  await t.rejects(fetch(`http://127.0.0.1:${port}/`));
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import t from 'tap';
import { silentLogger as log } from '#daemon/log/logger.js';
import { answerAlways, listenPlainly, PlainEndpoints, plainApp } from '#daemon/serving/plain-http.js';

const loopback = { address: '127.0.0.1', port: 0 };

/** A free port on loopback. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

t.test('a path answers every method, and no other path exists', async (t) => {
  const app = plainApp(log);
  let status = 200;
  answerAlways(app, '/healthz', () => ({ status, body: `says ${status}` }));
  answerAlways(app, '/broken', () => {
    throw new Error('oh');
  });
  const port = await listenPlainly(app, loopback, log);
  t.teardown(() => app.close());
  const ask = async (path: string, options: RequestInit = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, options);
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  };
  const plain = 'text/plain; charset=utf-8';
  t.same(await ask('/healthz?verbose'), { status: 200, type: plain, text: 'says 200' });
  t.same(await ask('/healthz', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }), {
    ...{ status: 200, type: plain, text: 'says 200' },
  });
  t.match(await ask('/healthz', { method: 'HEAD' }), { status: 200, text: '' });
  status = 503;
  t.match(await ask('/healthz'), { status: 503, text: 'says 503' });
  t.same(await ask('/else'), { status: 404, type: plain, text: '404 page not found\n' });
  t.match(await ask('/broken'), { status: 500, text: 'internal server error\n' });
  t.match(await ask('/%zz'), { status: 400 });
  const second = plainApp(log);
  t.teardown(() => second.close());
  t.equal(await listenPlainly(second, { ...loopback, port: port ?? 0 }, log), undefined, 'a port in use');
});

t.test('health and metrics of a daemon', async (t) => {
  const [health, metrics] = [await freePort(), await freePort()];
  const endpoints = new PlainEndpoints(log);
  await endpoints.serve(`127.0.0.1:${health}`, '/healthz', async () => ({ status: 200, body: 'ok' }));
  await endpoints.serve('', '/healthz', () => ({ status: 200, body: 'nowhere' }));
  await endpoints.serveMetrics(`127.0.0.1:${metrics}`, new Registry());
  t.equal(await (await fetch(`http://127.0.0.1:${health}/healthz`)).text(), 'ok');
  const answer = await fetch(`http://127.0.0.1:${metrics}/metrics`);
  t.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  await answer.text();
  await endpoints.close();
  await t.rejects(fetch(`http://127.0.0.1:${health}/healthz`));
});

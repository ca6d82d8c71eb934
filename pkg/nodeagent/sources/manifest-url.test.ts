/** A faulty web server of static pods: the pods stay unchanged, and the next valid response is used. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { silentLogger } from '#daemon/log/logger.js';
import { ManifestURL } from '#nodeagent/sources/manifest-url.js';
import { ManifestReader, maxManifestBytes } from '#nodeagent/sources/static-pod.js';
import { eventually } from '#nodeagent/testing/agent-fixture.js';

t.setTimeout(120_000);

/** Shortens deadlines fifty-fold. */
const fastClock: Clock = { ...realClock, setTimer: (fn, ms) => realClock.setTimer(fn, ms / 50) };
const reader = new ManifestReader({ dialect: orchDialect, clock: realClock, nodeName: 'n', gate: () => true });
const manifest = (name: string) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
  spec: { containers: [{ name: 'main', image: 'docker.io/test/app:1' }] },
});
const chunk = Buffer.alloc(1 << 16, ' ');

function endlessly(response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', more);
  more();
}

const respondWith = (text: string | Buffer, headers: Record<string, string> = {}) => {
  return (response: ServerResponse) => response.writeHead(200, headers).end(text);
};
const bytes = (text: string) => (response: ServerResponse) => response.socket?.end(text);

const lies: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  nothing: () => undefined,
  'half of it': (response) => response.writeHead(200, { 'content-length': '1000' }).write('{"apiVersion": '),
  'less than it says': (response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('{}');
    setImmediate(() => response.destroy());
  },
  'without end': (response) => endlessly(response.writeHead(200)),
  'an error without end': (response) => endlessly(response.writeHead(500)),
  'small and grows': respondWith(gzipSync(Buffer.alloc(maxManifestBytes * 4, ' ')), { 'content-encoding': 'gzip' }),
  'not packed as it says': respondWith('{}', { 'content-encoding': 'gzip' }),
  'in circles': (response) => response.writeHead(302, { location: '/again' }).end(),
  'a file': (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  nowhere: (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  twice: bytes('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'),
  'another protocol': bytes('x'.repeat(100_000)),
  'headers without end': bytes(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(100_000)}`),
  noise: respondWith(Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 131) & 255))),
  depth: respondWith('['.repeat(100_000)),
  'depth of maps': respondWith('{"a":'.repeat(100_000)),
  'aliases of aliases': respondWith(
    Array.from({ length: 40 }, (_, i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(i && 9)}]`).join('\n'),
  ),
  'no pod': respondWith('null'),
  'another kind': respondWith(JSON.stringify({ ...manifest('x'), kind: 'Node' })),
  'one good and one bad': respondWith(
    JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [manifest('good'), { metadata: 7 }] }),
  ),
  'a pod of nothing': respondWith(JSON.stringify({ ...manifest('x'), spec: { containers: [] } })),
};

t.test('invalid responses of every kind change nothing', async (t) => {
  let requests = 0;
  let respond: (response: ServerResponse) => unknown = respondWith(JSON.stringify(manifest('first')));
  const server = createServer((_request, response) => {
    requests++;
    respond(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const stop = new AbortController();
  const got: string[] = [];
  const source = new ManifestURL({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ...{ headers: [], periodMs: 10, reader, clock: fastClock, log: silentLogger },
    onPods: (list) => got.push(list.map(({ metadata }) => metadata.name).join()),
  });
  const running = source.run(stop.signal);
  await eventually(() => got.length > 0);
  const expected = ['first-n'];
  for (const [what, lie] of Object.entries(lies)) {
    respond = lie;
    const before = requests;
    await eventually(() => requests > before + 2, `requests continue after ${what}`);
    t.same(got, expected, what);
    const name = `after-${expected.length}`;
    respond = respondWith(JSON.stringify(manifest(name)));
    await eventually(() => got.at(-1) === `${name}-n`, `a good answer counts after ${what}`);
    expected.push(`${name}-n`);
  }
  stop.abort();
  await running;
});

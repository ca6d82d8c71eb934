import { once } from 'node:events';
import { createServer as createHTTPServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import t from 'tap';
import { checkHTTP, type HTTPCheck } from '#nodeagent/probes/http-check.js';

type Test = { teardown(fn: () => unknown): void };

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function serve(t: Test, listener: RequestListener) {
  const server = createHTTPServer(listener);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return checks(await listening(server));
}

/** A server that responds with exactly these bytes, and closes if `isOver`. */
async function serveBytes(t: Test, bytes: string, isOver = true) {
  const server = createServer((socket) => {
    t.teardown(() => socket.destroy());
    // The client may disconnect at any time.
    socket.on('error', () => undefined);
    socket.once('data', () => (isOver ? socket.end(bytes, 'latin1') : socket.write(bytes, 'latin1')));
  });
  t.teardown(() => server.close());
  return checks(await listening(server));
}

function checks(port: number) {
  const check = (path: string, more: Partial<HTTPCheck> = {}) =>
    checkHTTP({ scheme: 'http', host: '127.0.0.1', port, path, headers: [], timeoutMs: 60_000, ...more }, 'probe');
  return { port, check };
}

t.test('an HTTP check uses the status and does not read an endless body', async (t) => {
  const { check } = await serve(t, (request, response) => {
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
  t.same(await check('/200'), { success: true, output: 'said' });
  t.same(await check('/503'), { success: false, output: 'HTTP probe failed with statuscode: 503', statusCode: 503 });
  const { success, output } = await check('/200endless');
  t.equal(success, true);
  t.equal(output.length, 10 * 1024);
  t.equal((await check('/500endless')).success, false);
});

for (const [name, bytes] of [
  ['line feeds alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
  ['some line feeds alone', 'HTTP/1.1 200 OK\r\nX: y\nContent-Length: 2\r\n\nok'],
  ['an old protocol without length', 'HTTP/1.0 200 OK\n\nok'],
  ['no reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok'],
  ['long headers', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\nContent-Length: 2\r\n\r\nok`],
] as const) {
  t.test(`a response with ${name} is accepted`, async (t) => {
    const { check } = await serveBytes(t, bytes);
    t.same(await check('/'), { success: true, output: 'ok' });
  });
}

for (const [name, bytes] of [
  ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
  ['nothing', ''],
  ['half a body', 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok'],
  ['headers without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(2 ** 21)}`],
  ['a place that is none', 'HTTP/1.1 302 Found\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n'],
] as const) {
  t.test(`a response with ${name} fails`, async (t) => {
    const { check } = await serveBytes(t, bytes);
    t.match(await check('/'), { success: false, output: /^Get "http:\/\/127.0.0.1:\d+\/": ./ });
  });
}

for (const bytes of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok']) {
  t.test(`a response that stops after ${JSON.stringify(bytes)} does not block`, async (t) => {
    const { check } = await serveBytes(t, bytes, false);
    t.match(await check('/', { timeoutMs: 50 }), { success: false, output: /context deadline exceeded/ });
  });
}

t.test('redirects to the same host are followed, others succeed with a warning', async (t) => {
  const requests: (string | undefined)[][] = [];
  const { check, port } = await serve(t, ({ url = '', headers }, response) => {
    requests.push([url, headers.host, headers['x-a'] as string]);
    const go = (status: number, location?: string) =>
      response.writeHead(status, location === undefined ? {} : { location }).end('moved');
    if (url === '/relative') go(302, 'ok');
    else if (url === '/absolute') go(308, `http://127.0.0.1:${port}/ok`);
    else if (url === '/fails') go(301, '/bad');
    else if (url === '/away') go(307, 'http://example.invalid/ok');
    else if (url === '/nowhere') go(302);
    else if (url === '/loop') go(302, '/loop');
    else if (url === '/same') go(304);
    else response.writeHead(url === '/ok' ? 200 : 500).end('there');
  });
  const headers = [
    { name: 'Host', value: 'web.example' },
    { name: 'X-A', value: '1' },
    { name: 'x-a', value: '2' },
  ];
  t.same(await check('/relative', { headers }), { success: true, output: 'there' });
  t.same(requests.splice(0), [
    ['/relative', 'web.example', '1, 2'],
    ['/ok', 'web.example', '1, 2'],
  ]);
  t.same(await check('/absolute', { headers }), { success: true, output: 'there' });
  t.same(requests.splice(0).at(-1), ['/ok', `127.0.0.1:${port}`, '1, 2']);
  t.same(await check('/fails'), { success: false, output: 'HTTP probe failed with statuscode: 500', statusCode: 500 });
  for (const path of ['/away', '/nowhere']) {
    const output = 'Probe terminated redirects, Response body: moved';
    t.same(await check(path), { success: true, isWarning: true, output }, path);
  }
  t.match(await check('/same'), { success: true, isWarning: true });
  t.same(await check('/loop'), {
    success: false,
    output: `Get "http://127.0.0.1:${port}/loop": stopped after 10 redirects`,
  });
});

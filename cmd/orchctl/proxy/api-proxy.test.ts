/** Tests the proxy from a client's side, with a server that echoes requests. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import type { Api } from '#cmd/orchctl/api/api.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { proxy } from '#cmd/orchctl/commands/proxy.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';

/** The API server: echoes requests, watches and upgrades. */
async function apiServer(t: Test) {
  const gone: string[] = [];
  const server = createServer((request, response) => {
    const { headers, method, url } = request;
    response.once('close', () => gone.push(url ?? ''));
    if (url === '/watch') return void response.write('event\n');
    if (url === '/moved') return void response.writeHead(301, { location: '/api/elsewhere/' }).end();
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => response.writeHead(201).end(JSON.stringify({ method, url, headers, body })));
  });
  server.on('upgrade', ({ headers, url }, socket, head) => {
    if (url?.includes('no') === true) return void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno');
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${headers.upgrade}\r\n\r\n`);
    socket.write(`${url} as ${headers.authorization} `);
    socket.write(head);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, gone };
}

/** Runs the command and returns its address. */
async function start(t: Test, port: number, given: Record<string, string | number | boolean> = {}, path = '') {
  const options: Record<string, unknown> = {};
  for (const [name, { type, ...row }] of Object.entries(proxy.options))
    options[name] = 'default' in row ? row.default : type === 'bool' ? false : undefined;
  const values = { port: 0, ...given };
  const value = (name: string): unknown => (values as Record<string, unknown>)[name] ?? options[name];
  const stop = new AbortController();
  let output = '';
  const out = {
    write(text: string | Buffer) {
      output += text;
    },
  };
  const api = {
    webSocket: async (below: string) => ({
      url: `ws://127.0.0.1:${port}${path}${below}`,
      headers: { authorization: 'Bearer mine', 'Impersonate-User': 'jane' },
      async dial() {
        const socket = connect(port, '127.0.0.1');
        await once(socket, 'connect');
        return socket;
      },
    }),
  } as Pick<Api, 'webSocket'> as Api;
  const running = proxy.run({
    ...{ api, clock, out, err: out, signal: stop.signal },
    values: {
      string: value as Values['string'],
      number: value as Values['number'],
      bool: value as Values['bool'],
    } as Values,
  } as Invocation);
  t.teardown(async () => {
    stop.abort();
    await running.catch(() => undefined);
  });
  while (!output.includes('Starting to serve on ')) {
    await Promise.race([running.then(() => Promise.reject(new Error(output))), clock.sleep(5)]);
  }
  const at = /Starting to serve on (.*)\n/.exec(output)?.[1] ?? '';
  const listening = Number(at.split(':').at(-1));
  const ask = async (url: string, options: object = {}, body?: string) => {
    const asking = httpRequest({ host: '127.0.0.1', port: listening, path: url, ...options });
    asking.end(body);
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of answer) text += chunk;
    return { status: answer.statusCode, headers: answer.headers, text };
  };
  return { ask, at, port: listening, output: () => output };
}

async function upgraded(port: number, path: string): Promise<{ socket: Socket; output: () => string }> {
  const socket = connect(port, '127.0.0.1');
  let output = '';
  socket.on('data', (chunk) => {
    output += chunk;
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nearly `);
  return { socket, output: () => output };
}

t.test('forwards requests with the credentials of the configuration', async (t) => {
  const server = await apiServer(t);
  const { ask, at, port } = await start(t, server.port);
  t.match(at, /^127\.0\.0\.1:\d+$/);
  const path = '/api/v1/namespaces/a/services/https:web:443/proxy/a%2Fb/?x=1&x=%20';
  const json = { 'content-type': 'application/json', connection: 'x-hop', 'x-hop': 'mine' };
  const { status, text } = await ask(path, { method: 'POST', headers: json }, '{"kind":"Pod"}');
  t.equal(status, 201);
  const got = JSON.parse(text) as { headers: Record<string, string> };
  t.match(got, { method: 'POST', url: path, body: '{"kind":"Pod"}' });
  t.match(got.headers, {
    ...{ authorization: 'Bearer mine', 'impersonate-user': 'jane', 'content-type': 'application/json' },
    ...{ host: `127.0.0.1:${server.port}`, 'x-forwarded-for': '127.0.0.1' },
  });
  t.equal(got.headers['x-hop'], undefined);
  const own = JSON.parse((await ask('/', { headers: { authorization: 'Bearer theirs' } })).text) as typeof got;
  t.equal(own.headers['authorization'], 'Bearer theirs', 'the client may use other credentials');
  t.match(await ask('/moved'), { status: 301, headers: { location: '/api/elsewhere/' } });
  t.equal((await ask('/api/../../etc')).status, 400);
  t.equal((await ask('/big', { method: 'PUT' }, 'x'.repeat(3_000_000))).status, 201);

  const watch = httpRequest({ host: '127.0.0.1', port, path: '/watch' });
  watch.on('error', () => undefined).end();
  const [answer] = (await once(watch, 'response')) as [IncomingMessage];
  const [event] = (await once(answer, 'data')) as [Buffer];
  t.equal(event.toString(), 'event\n', 'parts of a response arrive at once');
  answer.on('error', () => undefined);
  watch.destroy();
  while (!server.gone.includes('/watch')) await clock.sleep(5);
});

t.test('filters requests like release 1.24', async (t) => {
  const server = await apiServer(t);
  const { ask } = await start(t, server.port, { 'reject-methods': 'DELETE,^PAT' });
  const exec = '/api/v1/namespaces/a/pods/b/exec';
  const rows: [status: number, path: string, method: string, host: string][] = [
    [201, '/api/v1/pods', 'GET', 'localhost:8001'],
    [201, '/api/v1/pods', 'GET', '127.0.0.1'],
    [201, '/api/v1/pods', 'GET', '[::1]:8001'],
    [403, '/api/v1/pods', 'GET', 'evil.example.com'],
    [403, '/api/v1/pods', 'GET', 'localhost.evil.com'],
    [403, exec, 'GET', 'localhost'],
    [403, `${exec}?command=ls`, 'POST', 'localhost'],
    [403, '/api/v1/namespaces/a/pods/b/%65xec', 'POST', 'localhost'],
    [403, '/api/v1/namespaces/a/pods/b/attach', 'POST', 'localhost'],
    [201, '/api/v1/namespaces/a/pods/b/log', 'GET', 'localhost'],
    [403, '/api/v1/pods', 'DELETE', 'localhost'],
    [403, '/api/v1/pods', 'PATCH', 'localhost'],
  ];
  for (const [status, path, method, host] of rows) {
    const answer = await ask(path, { method, headers: { host } });
    t.equal(answer.status, status, `${method} ${host} ${path}`);
    if (status === 403) t.equal(answer.text, 'Forbidden\n');
  }
  const open = await start(t, server.port, { 'disable-filter': true });
  t.match(open.output(), /vulnerable to XSRF/);
  t.equal((await open.ask(exec, { headers: { host: 'any.org' } })).status, 201);
  const none = await start(t, server.port, { 'accept-hosts': '' });
  t.equal((await none.ask('/', { headers: { host: 'localhost' } })).status, 403);
});

t.test('tunnels upgrades, or refuses them', async (t) => {
  const server = await apiServer(t);
  const { port } = await start(t, server.port);
  const forward = await upgraded(port, '/api/v1/namespaces/a/pods/b/portforward?ports=80');
  while (!forward.output().includes('early ')) await once(forward.socket, 'data');
  t.match(
    forward.output(),
    /^HTTP\/1.1 101 .*\r\n\r\n\/api\/v1\/namespaces\/a\/pods\/b\/portforward\?ports=80 as Bearer mine /s,
  );
  forward.socket.end('late');
  await once(forward.socket, 'close');
  t.match(forward.output(), /early late$/);
  for (const [path, status] of [
    ['/api/v1/namespaces/a/pods/b/exec', /^HTTP\/1.1 403 Forbidden\r\n/],
    ['/no', /^HTTP\/1.1 403 Forbidden\r\n.*no$/s],
  ] as const) {
    const { output, socket } = await upgraded(port, path);
    await once(socket, 'close');
    t.match(output(), status, path);
  }
});

t.test('supports prefixes, files, sockets and server paths', async (t) => {
  const server = await apiServer(t);
  const folder = await mkdtemp(join(tmpdir(), 'orchctl-proxy-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'index.html'), '<p>hello');
  await writeFile(join(folder, 'page.js'), 'go()');
  const url = (text: string) => (JSON.parse(text) as { url: string }).url;
  const custom = await start(t, server.port, { 'api-prefix': '/custom', www: folder, 'www-prefix': '/my/files' });
  t.equal(url((await custom.ask('/custom/api/v1/pods?a=b')).text), '/api/v1/pods?a=b');
  t.equal((await custom.ask('/api/v1/pods')).status, 404);
  t.match(await custom.ask('/my/files/'), { status: 200, text: '<p>hello', headers: { 'content-type': /html/ } });
  t.match(await custom.ask('/my/files/page.js'), { text: 'go()', headers: { 'content-type': /javascript/ } });
  t.equal((await custom.ask('/my/files/none')).status, 404);
  t.not((await custom.ask('/my/files/..%2f..%2fetc/passwd')).status, 200);
  const part = await start(t, server.port, { 'api-prefix': '/api/' });
  t.equal(url((await part.ask('/api/v1/pods')).text), '/api/v1/pods');
  t.equal((await part.ask('/apis/apps')).status, 404);

  const below = await start(t, server.port, { 'append-server-path': true }, '/clusters/one');
  t.equal(url((await below.ask('/api/v1/pods?a')).text), '/clusters/one/api/v1/pods?a');
  const beside = await start(t, server.port, {}, '/clusters/one');
  t.match(beside.output(), /--append-server-path/);
  t.equal(url((await beside.ask('/api')).text), '/api');

  const socketPath = join(folder, 'socket');
  const { ask, at } = await start(t, server.port, { 'unix-socket': socketPath, port: 8001 });
  t.equal(at, socketPath);
  const headers = { host: 'localhost' };
  t.equal((await ask('/x', { host: undefined, port: undefined, socketPath, headers })).status, 201);
  await t.rejects(start(t, server.port, { 'unix-socket': socketPath }), { message: /at the same time/ });
  await t.rejects(start(t, server.port, { 'accept-hosts': '(' }), { message: /regular expression/ });
});

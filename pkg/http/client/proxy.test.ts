import { createServer as createHttpServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { readAll } from '#client/rest/response.js';
import { http2Server, listening, testAuthority } from '#client/testing/tls-server.js';
import { staticTls } from '#http/client/credentials.js';
import { parseProxy, proxyFromEnvironment } from '#http/client/proxy.js';
import { isTransportError } from '#http/client/transport-error.js';

t.test('the environment selects a proxy', async (t) => {
  const proxies = { HTTPS_PROXY: 'secure:1', HTTP_PROXY: 'http://plain:2' };
  const rows: [string, string, boolean][] = [
    ['https://api.example.com:6443', '', true],
    ['https://localhost', '', false],
    ['https://127.0.0.1:6443', '', false],
    ['https://[::1]:6443', '', false],
    ['https://api.example.com', 'example.com', false],
    ['https://api.example.com', ' .example.com', false],
    ['https://example.com', '.example.com', true],
    ['https://example.com', '*.example.com', true],
    ['https://notexample.com', 'example.com', true],
    ['https://api.example.com:6443', 'example.com:6443', false],
    ['https://api.example.com:6443', 'example.com:443', true],
    ['https://api.example.com', 'example.com:443', false],
    ['https://10.1.2.3', 'other,10.0.0.0/8', false],
    ['https://11.1.2.3', '10.0.0.0/8', true],
    ['https://10.1.2.3:6443', '10.1.2.3:6443', false],
    ['https://[fd00::17]', 'fd00::/16', false],
    ['https://[fd00::17]', '[fd00:0::17]:443', false],
    ['https://[fe00::17]', 'fd00::/16', true],
    ['https://api.example.com', '*', false],
    ['https://10.1.2.3', '10.0.0.0/x', true],
  ];
  for (const [server, exceptions, proxied] of rows) {
    const proxy = proxyFromEnvironment(new URL(server), { ...proxies, NO_PROXY: exceptions });
    t.equal(proxy?.href, proxied ? 'http://secure:1/' : undefined, `${server} NO_PROXY=${exceptions}`);
  }
  t.equal(proxyFromEnvironment(new URL('http://a'), proxies)?.host, 'plain:2');
  t.equal(proxyFromEnvironment(new URL('https://a'), { https_proxy: 'socks5://s:3' })?.protocol, 'socks5:');
  t.equal(proxyFromEnvironment(new URL('https://a.b'), { HTTPS_PROXY: 'p', no_proxy: 'b' }), undefined);
  t.equal(proxyFromEnvironment(new URL('https://a'), {}), undefined);
  t.throws(() => parseProxy('ftp://x'), /unsupported scheme "ftp"/);
  t.throws(() => parseProxy('http://:0:x'), /not the address of a proxy/);
});

const authority = await testAuthority();

/** Echoes requests. */
async function apiServer(t: Parameters<typeof http2Server>[0]) {
  const { server, url } = await http2Server(t, authority);
  server.on('request', (request, response) => response.end(`${request.httpVersion} ${request.url}`));
  return url;
}

async function ask(t: Parameters<typeof http2Server>[0], server: string, proxy: string): Promise<string> {
  const tls = staticTls({ ca: authority.certificate });
  const transport = new HttpTransport({ server, clock: realClock, tls, proxy: parseProxy(proxy) });
  t.teardown(() => transport.close());
  const response = await transport.request({ method: 'GET', path: '/x', headers: {} });
  return String(await readAll(response.body));
}

function splice(from: Socket, to: Socket): void {
  from.on('error', () => to.destroy());
  to.on('error', () => from.destroy());
  from.pipe(to).pipe(from);
}

/** An HTTP proxy that requires `user:pass`. */
function httpProxy(seen: string[]) {
  const proxy = createHttpServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['proxy-authorization']}`);
    const onward = httpRequest(request.url ?? '', { method: request.method ?? '' }, (answer) => answer.pipe(response));
    request.pipe(onward);
  });
  proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
    seen.push(`${request.method} ${request.url}`);
    if (request.headers['proxy-authorization'] !== `Basic ${Buffer.from('user:p@ss').toString('base64')}`) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const { hostname, port } = new URL(`http://${request.url}`);
    const target = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      splice(socket, target);
    });
  });
  return proxy;
}

t.test('requests pass an HTTP proxy with its credentials', async (t) => {
  const seen: string[] = [];
  const port = await listening(t, httpProxy(seen));
  const server = await apiServer(t);
  t.equal(await ask(t, server, `http://user:p%40ss@127.0.0.1:${port}`), '2.0 /x');
  t.same(seen, [`CONNECT ${new URL(server).host}`]);
  await t.rejects(ask(t, server, `http://user:wrong@127.0.0.1:${port}`), { message: /refuses.*407/ });
  const plain = createHttpServer((request, response) => response.end(`${request.headers.host} ${request.url}`));
  const plainPort = await listening(t, plain);
  t.equal(
    await ask(t, `http://127.0.0.1:${plainPort}`, `http://user:x@127.0.0.1:${port}`),
    `127.0.0.1:${plainPort} /x`,
  );
  t.match(seen.at(-1), /^GET http:\/\/127.0.0.1:\d+\/x Basic /);
});

t.test('an HTTPS proxy needs a trusted certificate', async (t) => {
  const seen: string[] = [];
  const inner = httpProxy(seen);
  const outer = createTlsServer(authority.serving, (socket) => inner.emit('connection', socket));
  const port = await listening(t, outer);
  const server = await apiServer(t);
  try {
    await ask(t, server, `https://user:p%40ss@127.0.0.1:${port}`);
    t.fail('the proxy is of an unknown authority');
  } catch (error) {
    t.ok(isTransportError(error, 'TLS'));
  }
});

t.test('requests pass a SOCKS 5 proxy', async (t) => {
  const seen: string[] = [];
  const proxy = createServer((client) => {
    client.once('data', (greeting) => {
      const chosenMethod = greeting.includes(2, 2) ? 2 : 0;
      client.write(Buffer.from([5, chosenMethod]));
      const handleRequest = (request: Buffer) => {
        const name = request[3] === 3;
        const host = name ? request.subarray(5, 5 + (request[4] ?? 0)).toString() : request.subarray(4, 8).join('.');
        const port = request.readUInt16BE(request.length - 2);
        seen.push(`${host}:${port}`);
        if (host === 'forbidden.test') {
          client.end(Buffer.from([5, 2, 0, 1, 0, 0, 0, 0, 0, 0]));
          return;
        }
        const target = connect(port, '127.0.0.1', () => {
          client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
          splice(client, target);
        });
      };
      if (chosenMethod === 0) client.once('data', handleRequest);
      else {
        client.once('data', (login) => {
          const ok = login.equals(Buffer.from('\x01\x04user\x04pass', 'latin1'));
          client.write(Buffer.from([1, ok ? 0 : 1]));
          client.once('data', handleRequest);
        });
      }
    });
  });
  const port = await listening(t, proxy);
  const server = await apiServer(t);
  const named = server.replace('127.0.0.1', 'api.test');
  t.equal(await ask(t, server, `socks5://127.0.0.1:${port}`), '2.0 /x');
  t.equal(await ask(t, named, `socks5://user:pass@127.0.0.1:${port}`), '2.0 /x');
  t.same(seen, [new URL(server).host, new URL(named).host]);
  await t.rejects(ask(t, server, `socks5://user:nope@127.0.0.1:${port}`), { message: /user or password/ });
  await t.rejects(ask(t, 'https://forbidden.test', `socks5://127.0.0.1:${port}`), { message: /not allowed/ });
});

/** The API server's port: certificates by server name, their reload, and the limits of HTTP/2. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { get, request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { generateRsaKey } from '#pki/keys.js';
import { createSelfSigned } from '#pki/self-signed.js';
import { startApi, until } from '#test/integration/daemons/api.js';

t.setTimeout(120_000);

t.test('certificates by server name, and streams', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'serving-'));
  t.teardown(() => rm(folder, { recursive: true }));
  // Its type differs from that of the server's own key.
  const keys = await generateRsaKey();
  const put = async (commonName: string) => {
    const serving = await createSelfSigned({ commonName, names: ['named.test'], ips: [], now: clock.now(), keys });
    await writeFile(join(folder, 'named.crt'), serving.certificate);
    await writeFile(join(folder, 'named.key'), serving.privateKey);
  };
  await put('first');
  const sni = `--tls-sni-cert-key=${join(folder, 'named.crt')},${join(folder, 'named.key')}`;
  const { port } = await startApi(t, { dialect, args: [sni, '--http2-max-streams-per-connection=7'] });
  const served = async (servername: string) => {
    const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const name = String(socket.getPeerCertificate().subject.CN).split('@')[0];
    socket.destroy();
    return name;
  };
  t.equal(await served('named.test'), 'first');
  t.not(await served('localhost'), 'first');
  await put('second');
  await until('the new certificate', async () => (await served('named.test')) === 'second');

  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  const [settings] = (await once(session, 'remoteSettings')) as [{ readonly maxConcurrentStreams?: number }];
  t.equal(settings.maxConcurrentStreams, 7);
  session.destroy();
});

t.test('connections are made anew now and then, and clients told to come over TLS', async (t) => {
  const directives = '--strict-transport-security-directives=max-age=31536000,includeSubDomains';
  const { port } = await startApi(t, { dialect, args: [directives, '--goaway-chance=0.02'] });
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  t.teardown(() => session.destroy());
  let gone = false;
  session.once('goaway', () => {
    gone = true;
  });
  for (let count = 0; !gone && count < 5000; count += 1) {
    const request = session.request({ ':path': '/healthz' });
    const [headers] = (await once(request, 'response')) as [Record<string, unknown>];
    request.resume();
    await once(request, 'end');
    t.equal(headers[':status'], 200);
    if (count === 0) t.equal(headers['strict-transport-security'], 'max-age=31536000; includeSubDomains');
  }
  t.equal(gone, true);
});

t.test('browsers of allowed origins are answered before authentication', async (t) => {
  const { port } = await startApi(t, {
    dialect,
    args: ['--cors-allowed-origins=^https://a\\.test$,^https://b\\.test$', '--anonymous-auth=false'],
  });
  const ask = (method: string, headers: Record<string, string>) =>
    new Promise<{ readonly status: number; readonly origin: unknown }>((resolve, reject) => {
      const where = { host: '127.0.0.1', port, path: '/api', rejectUnauthorized: false, agent: false };
      const call = request({ ...where, method, headers }, (response) => {
        response.resume();
        const origin = response.headers['access-control-allow-origin'];
        response.on('end', () => resolve({ status: response.statusCode ?? 0, origin }));
      });
      call.on('error', reject).end();
    });
  t.same(await ask('OPTIONS', { origin: 'https://b.test' }), { status: 204, origin: 'https://b.test' });
  t.same(await ask('OPTIONS', { origin: 'https://c.test' }), { status: 401, origin: undefined });
  t.same(await ask('GET', { origin: 'https://a.test' }), { status: 401, origin: 'https://a.test' });
  const authorization = 'Bearer root';
  t.same(await ask('GET', { origin: 'https://a.test', authorization }), { status: 200, origin: 'https://a.test' });
  t.same(await ask('GET', { authorization }), { status: 200, origin: undefined });
});

t.test('a server that is to stop serves on while others notice', async (t) => {
  const { api, port } = await startApi(t, { dialect, args: ['--shutdown-delay-duration=2s'] });
  const status = (path: string) =>
    new Promise<number>((resolve, reject) => {
      const call = get({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      call.on('error', reject);
    });
  t.equal(await status('/readyz'), 200);
  let closed = false;
  const closing = api.close().then(() => {
    closed = true;
  });
  await until('it is not ready any more', async () => (await status('/readyz')) === 500);
  t.equal(closed, false);
  t.equal(await status('/livez'), 200);
  t.equal(await status('/version'), 200);
  await closing;
  await t.rejects(status('/livez'), { code: 'ECONNREFUSED' });
});

t.test('two servers may share a port, if both say so', async (t) => {
  const shared = await startApi(t, { dialect, args: ['--permit-port-sharing'] });
  const alone = await startApi(t, { dialect });
  const listens = async (at: number, reusePort: boolean) => {
    const server = createServer();
    server.listen({ port: at, host: '127.0.0.1', reusePort });
    try {
      await once(server, 'listening');
      return true;
    } catch {
      return false;
    } finally {
      server.close();
    }
  };
  t.equal(await listens(shared.port, true), true);
  t.equal(await listens(shared.port, false), false);
  t.equal(await listens(alone.port, true), false);
});

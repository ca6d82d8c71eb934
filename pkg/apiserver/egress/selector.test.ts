import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpsServer, request } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { buildEgress } from '#apiserver/build/egress.js';
import { startSocketProxy, startTlsProxy, startTunnelProxy } from '#apiserver/egress/testing/proxies.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { Dial } from '#http/client/dial.js';
import { DialedHttpsAgent } from '#http/client/dialed-agent.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';
import { createSelfSigned } from '#pki/self-signed.js';

async function folderOf(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'egress-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

/** A way of `cluster` with this connection. */
async function wayWith(t: Test, connection: object, clock = realClock) {
  const path = join(await folderOf(t), 'egress.yaml');
  await writeFile(
    path,
    JSON.stringify({ kind: 'EgressSelectorConfiguration', egressSelections: [{ name: 'cluster', connection }] }),
  );
  const metrics = new Registry();
  const selector = await buildEgress(path, { clock, random: Math.random, metrics });
  const dial = selector?.dialOf('cluster');
  if (dial === undefined) throw new TypeError('no way');
  t.equal(selector?.dialOf('etcd'), undefined, 'others are reached directly');
  return { dial, metrics };
}

async function listening(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** The ways through proxies, by what the metrics call them. */
async function ways(t: Test) {
  const folder = await folderOf(t);
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const serving = await issueCertificate(authority, {
    subject: { commonName: 'proxy', organizations: [] },
    usages: ['server'],
    ips: ['127.0.0.1'],
    now,
  });
  const client = await issueCertificate(authority, {
    subject: { commonName: 'server', organizations: [] },
    usages: ['client'],
    now,
  });
  const files = { caBundle: join(folder, 'ca'), clientCert: join(folder, 'cert'), clientKey: join(folder, 'key') };
  await writeFile(files.caBundle, authority.certificate);
  await writeFile(files.clientCert, client.certificate);
  await writeFile(files.clientKey, client.privateKey);
  const overTls = await startTlsProxy({
    cert: serving.certificate,
    key: serving.privateKey,
    ca: authority.certificate,
  });
  const overSocket = await startSocketProxy(join(folder, 'connect.sock'));
  const tunnel = await startTunnelProxy(join(folder, 'grpc.sock'));
  for (const { close } of [overTls, overSocket, tunnel]) t.teardown(close);
  const uds = ({ address }: { address: string | number }) => ({ uds: { udsName: address } });
  const tcp = { url: `https://127.0.0.1:${overTls.address}`, tlsConfig: files };
  return [
    {
      proxy: overTls,
      protocol: 'http_connect',
      transport: 'tcp',
      connection: { proxyProtocol: 'HTTPConnect', transport: { tcp } },
    },
    {
      proxy: overSocket,
      protocol: 'http_connect',
      transport: 'uds',
      connection: { proxyProtocol: 'HTTPConnect', transport: uds(overSocket) },
    },
    {
      proxy: tunnel,
      protocol: 'grpc',
      transport: 'uds',
      connection: { proxyProtocol: 'GRPC', transport: uds(tunnel) },
    },
  ];
}

t.test('bytes go both ways through each kind of proxy, to names that only the proxy knows', async (t) => {
  const port = await listening(
    t,
    createServer((socket) => socket.on('error', () => undefined).pipe(socket)),
  );
  for (const { connection, protocol, proxy, transport } of await ways(t)) {
    const name = `${protocol} ${transport}`;
    proxy.names.set('node-1:10250', `127.0.0.1:${port}`);
    const { dial, metrics } = await wayWith(t, connection);
    const sent = randomBytes(3_000_000);
    const stream = await dial({ host: 'node-1', port: 10250 });
    let length = 0;
    const parts: Buffer[] = [];
    const all = new Promise<void>((resolve, reject) => {
      stream.on('error', reject).on('data', (part: Buffer) => {
        parts.push(part);
        length += part.length;
        if (length >= sent.length) resolve();
      });
    });
    stream.write(sent);
    await all;
    t.ok(Buffer.concat(parts).equals(sent), `${name}: all bytes`);
    stream.destroy();
    t.same(proxy.targets, ['node-1:10250'], name);
    const text = await metrics.metrics();
    t.match(
      text,
      `apiserver_egress_dialer_dial_duration_seconds_count{protocol="${protocol}",transport="${transport}"} 1`,
    );

    proxy.refuse = '403 Forbidden';
    const reason =
      protocol === 'grpc' ? '403 Forbidden' : /^proxy error from .* while dialing \[::1\]:1, code 403: 403 Forbidden$/;
    await t.rejects(dial({ host: '::1', port: 1 }), { message: reason }, `${name}: a refusal`);
    const labels = `protocol="${protocol}",transport="${transport}",stage="proxy"`;
    t.match(await metrics.metrics(), `apiserver_egress_dialer_dial_failure_count{${labels}} 1`);
    proxy.close();
  }
});

t.test('the end of the target ends the connection', async (t) => {
  const port = await listening(
    t,
    createServer((socket) => socket.once('data', () => socket.end('bye'))),
  );
  for (const { connection, protocol } of await ways(t)) {
    const { dial } = await wayWith(t, connection);
    const stream = await dial({ host: '127.0.0.1', port });
    stream.write('hello');
    t.equal((await buffer(stream)).toString(), 'bye', protocol);
  }
});

t.test('HTTP with TLS, kept alive and anew', async (t) => {
  const serving = await createSelfSigned({ commonName: 'x', names: ['x.test'], ips: [], now: realClock.now() });
  const server = createHttpsServer({ cert: serving.certificate, key: serving.privateKey }, (incoming, response) => {
    incoming.resume().on('end', () => response.end(`${incoming.headers.host}`));
  });
  const port = await listening(t, server);
  const ask = (agent: DialedHttpsAgent) =>
    new Promise<string>((resolve, reject) => {
      const options = { host: 'x.test', port, agent, ca: serving.certificate };
      const call = request(
        options,
        (response) => void buffer(response).then((body) => resolve(body.toString()), reject),
      );
      call.on('error', reject).end();
    });
  for (const { connection, protocol, proxy } of await ways(t)) {
    proxy.names.set(`x.test:${port}`, `127.0.0.1:${port}`);
    const { dial } = await wayWith(t, connection);
    const kept = new DialedHttpsAgent(dial, { keepAlive: true });
    for (let i = 0; i < 3; i += 1) t.equal(await ask(kept), `x.test:${port}`, protocol);
    t.equal(proxy.targets.length, 1, `${protocol}: one connection`);
    kept.destroy();
    await ask(new DialedHttpsAgent(dial));
    t.equal(proxy.targets.length, 2, `${protocol}: a new one`);
  }
});

t.test('a proxy that is away or silent fails in time', async (t) => {
  const folder = await folderOf(t);
  const uds = { uds: { udsName: join(folder, 'none') } };
  const expired = async (dial: Dial, clock: VirtualClock) => {
    const dialing = dial({ host: 'a', port: 1 });
    dialing.catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(30_001);
    return dialing;
  };
  const away = await wayWith(t, { proxyProtocol: 'HTTPConnect', transport: uds });
  await t.rejects(away.dial({ host: 'a', port: 1 }), { code: 'ENOENT' });
  t.match(await away.metrics.metrics(), /failure_count\{protocol="http_connect",transport="uds",stage="connect"\} 1/);
  const clock = new VirtualClock();
  const tunnel = await wayWith(t, { proxyProtocol: 'GRPC', transport: uds }, clock);
  await t.rejects(expired(tunnel.dial, clock), { message: 'context deadline exceeded' });
  t.match(await tunnel.metrics.metrics(), /failure_count\{protocol="grpc",transport="uds",stage="connect"\} 1/);

  const sockets: Socket[] = [];
  const path = join(folder, 'silent');
  const silent = createServer((socket) => sockets.push(socket.resume())).listen(path);
  await once(silent, 'listening');
  t.teardown(() => {
    silent.close();
    for (const socket of sockets) socket.destroy();
  });
  const late = await wayWith(t, { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName: path } } }, clock);
  const dialing = late.dial({ host: 'a', port: 1 });
  dialing.catch(() => undefined);
  while (sockets.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(30_001);
  await t.rejects(dialing, /reading HTTP response from CONNECT to a:1 via proxy .*silent failed/);
});

t.test('files that cannot be used end the start', async (t) => {
  const folder = await folderOf(t);
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const start = (path: string) => buildEgress(path, { clock: realClock, random: Math.random, metrics: new Registry() });
  const option = '--egress-selector-config-file';
  await t.rejects(start(join(folder, 'none')), {
    name: 'OptionsError',
    message: /^--egress-selector-config-file: ENOENT/,
  });
  const wrong = await file('wrong', '{"kind":"Pod"}');
  await t.rejects(start(wrong), { message: `${option}: ${wrong}: invalid service configuration object "Pod"` });
  const key = await file('key', 'no key');
  const tcp = { url: 'https://127.0.0.1:1', tlsConfig: { clientCert: key, clientKey: key } };
  const selection = { name: 'etcd', connection: { proxyProtocol: 'HTTPConnect', transport: { tcp } } };
  const unusable = await file(
    'tls',
    JSON.stringify({ kind: 'EgressSelectorConfiguration', egressSelections: [selection] }),
  );
  await t.rejects(start(unusable), { message: new RegExp(`failed to read key pair ${key} & ${key}, got`) });
  t.equal(await start(''), undefined, 'without the option');
});

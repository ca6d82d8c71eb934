/** The API server behind proxies: nodes, Services, webhooks and etcd are reached through those of the configuration. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { startSocketProxy, startTunnelProxy } from '#apiserver/egress/testing/proxies.js';
import { createSelfSigned } from '#pki/self-signed.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { startApi, until } from '#test/integration/daemons/api.js';

t.setTimeout(120_000);

/** An HTTPS server whose certificate has these names; resolves with its port and its authority. */
async function serve(t: Test, names: readonly string[], listener: RequestListener) {
  const serving = await createSelfSigned({ commonName: 'x', names, ips: [], now: clock.now() });
  const server = createServer({ cert: serving.certificate, key: serving.privateKey }, listener);
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: SPDY/3.1\r\n\r\n');
    socket.end('switched');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { at: `127.0.0.1:${(server.address() as AddressInfo).port}`, ca: serving.certificate };
}

t.test('nodes, pods, Services and webhooks', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'egress-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const cluster = await startTunnelProxy(join(folder, 'cluster.sock'));
  const control = await startSocketProxy(join(folder, 'control.sock'));
  t.teardown(() => {
    cluster.close();
    control.close();
  });
  const way = (name: string, proxyProtocol: string, udsName: string) => ({
    name,
    connection: { proxyProtocol, transport: { uds: { udsName } } },
  });
  const file = join(folder, 'egress.yaml');
  const egressSelections = [
    way('cluster', 'GRPC', join(folder, 'cluster.sock')),
    way('controlplane', 'HTTPConnect', join(folder, 'control.sock')),
  ];
  await writeFile(file, JSON.stringify({ kind: 'EgressSelectorConfiguration', egressSelections }));
  const { port } = await startApi(t, {
    dialect,
    args: [`--egress-selector-config-file=${file}`, '--disable-admission-plugins=ServiceAccount'],
  });

  const ask = (path: string, body?: object, more: Record<string, string> = {}) =>
    new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
      const headers = { authorization: 'Bearer root', 'content-type': 'application/json', ...more };
      const where = { host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false, headers };
      const answered = (response: IncomingMessage) =>
        void text(response).then((read) => resolve({ status: response.statusCode ?? 0, text: read }), reject);
      const call = request({ ...where, method: body === undefined ? 'GET' : 'POST' }, answered);
      call.on('upgrade', (response, socket, head) => {
        void text(socket).then(
          (rest) => resolve({ status: response.statusCode ?? 0, text: head.toString() + rest }),
          reject,
        );
      });
      call.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  const create = async (path: string, body: object) => {
    const { status, text: answer } = await ask(path, body);
    t.equal(status, 201, `${path} ${answer}`);
  };

  // No address here can be reached directly.
  const agent = await serve(t, ['node'], (incoming, response) => void response.end(`agent ${incoming.url}`));
  cluster.names.set('192.0.2.1:10250', agent.at);
  const core = '/api/v1/namespaces/default';
  const daemonEndpoints = { kubeletEndpoint: { Port: 10250 } };
  const addresses = [{ type: 'InternalIP', address: '192.0.2.1' }];
  await create('/api/v1/nodes', { metadata: { name: 'n' }, status: { addresses, daemonEndpoints } });
  const containers = [{ name: 'c', image: 'i' }];
  await create(`${core}/pods`, { metadata: { name: 'p' }, spec: { nodeName: 'n', containers } });
  t.same(await ask('/api/v1/nodes/n/proxy/healthz'), { status: 200, text: 'agent /healthz' });
  t.same(await ask(`${core}/pods/p/log`), { status: 200, text: 'agent /containerLogs/default/p/c' });
  const upgrade = { connection: 'upgrade', upgrade: 'SPDY/3.1' };
  t.match(await ask(`${core}/pods/p/exec?command=x&stdout=1`, undefined, upgrade), { status: 101, text: 'switched' });
  t.same(cluster.targets, Array(3).fill('192.0.2.1:10250'), 'all through the proxy of the cluster');

  await t.test('a webhook with a URL', async (t) => {
    const hook = await serve(t, ['hook.test'], (incoming, response) => {
      void text(incoming).then((body) => {
        const { request: review, apiVersion, kind } = JSON.parse(body) as Record<string, { readonly uid: string }>;
        response.end(JSON.stringify({ apiVersion, kind, response: { uid: review?.uid, allowed: false } }));
      });
    });
    control.names.set('hook.test:8443', hook.at);
    const rules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }];
    const clientConfig = { url: 'https://hook.test:8443/', caBundle: Buffer.from(hook.ca).toString('base64') };
    const group = dialect.groupName('admissionregistration');
    const webhook = { name: 'a.hook.test', rules, clientConfig, sideEffects: 'None', admissionReviewVersions: ['v1'] };
    await create(`/apis/${group}/v1/validatingwebhookconfigurations`, { metadata: { name: 'h' }, webhooks: [webhook] });
    const denied = 'admission webhook \\"a.hook.test\\" denied the request';
    await until('the webhook', async () => {
      const name = `c${control.targets.length}${clock.now()}`;
      return (await ask(`${core}/configmaps`, { metadata: { name } })).text.includes(denied);
    });
    t.equal(control.targets[0], 'hook.test:8443', 'through the proxy of the control plane');
  });

  await t.test('an extension API server', async (t) => {
    const extension = await serve(t, [`api.default.svc`], (incoming, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ kind: 'APIResourceList', groupVersion: 'e.test/v1', resources: [], path: incoming.url }),
      );
    });
    await create(`${core}/services`, {
      metadata: { name: 'api' },
      spec: { clusterIP: '10.96.0.77', ports: [{ port: 443 }] },
    });
    await create(`${core}/endpoints`, {
      metadata: { name: 'api' },
      subsets: [{ addresses: [{ ip: '192.0.2.9' }], ports: [{ port: 443 }] }],
    });
    cluster.names.set('10.96.0.77:443', extension.at);
    const group = dialect.groupName('apiregistration');
    await create(`/apis/${group}/v1/apiservices`, {
      metadata: { name: 'v1.e.test' },
      spec: {
        ...{ group: 'e.test', version: 'v1', groupPriorityMinimum: 100, versionPriority: 100 },
        service: { name: 'api', namespace: 'default' },
        caBundle: Buffer.from(extension.ca).toString('base64'),
      },
    });
    await until('the extension server', async () =>
      (await ask('/apis/e.test/v1/things')).text.includes('/apis/e.test/v1/things'),
    );
    t.ok(cluster.targets.includes('10.96.0.77:443'), 'through the proxy of the cluster');
  });

  const { text: metrics } = await ask('/metrics');
  t.match(metrics, /apiserver_egress_dialer_dial_duration_seconds_count\{protocol="grpc",transport="uds"\} [1-9]/);
});

t.test('etcd', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'egress-'));
  const etcd = await startEtcd();
  const proxy = await startSocketProxy(join(folder, 'etcd.sock'));
  t.teardown(async () => {
    proxy.close();
    await etcd.stop();
    await rm(folder, { recursive: true });
  });
  proxy.names.set('etcd.test:2379', new URL(etcd.endpoint).host);
  const { buildEgress } = await import('#apiserver/build/egress.js');
  const { Registry } = await import('prom-client');
  const file = join(folder, 'egress.yaml');
  const connection = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName: join(folder, 'etcd.sock') } } };
  const egressSelections = [{ name: 'etcd', connection }];
  await writeFile(file, JSON.stringify({ kind: 'EgressSelectorConfiguration', egressSelections }));
  const egress = await buildEgress(file, { clock, random: Math.random, metrics: new Registry() });
  const store = new EtcdStore({
    endpoints: ['http://etcd.test:2379'],
    dial: egress?.dialOf('etcd'),
    clock,
    random: Math.random,
  });
  t.teardown(() => store.close());
  const value = Buffer.alloc(500_000, 'x');
  t.match(await store.create('/registry/a', value), { ok: true });
  t.same((await store.range({ start: '/registry/a', end: '/registry/b' })).kvs[0]?.value, value);
  t.ok(proxy.targets.length > 0);
  t.same([...new Set(proxy.targets)], ['etcd.test:2379'], 'through its proxy');
});

import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpsServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { gunzipSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import {
  configmaps,
  endpoints,
  namespaces,
  nodes,
  pods,
  secrets,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import type { ConfigMap, Endpoints, Node, Pod, Secret, Service, ServiceAccount } from '#api/core/v1/types.gen.js';
import { clusterroles, rolebindings } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, RoleBinding } from '#api/rbac/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { buildApiServer } from '#apiserver/build/build.js';
import type { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import type { Client } from '#client/client.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';
import { RestClient } from '#client/rest/rest-client.js';
import { type ClusterPki, ensureClusterPki, ensureNodePki } from '#cluster/pki/cluster-pki.js';
import { silentLogger } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';
import { directoryStore } from '#pki/file-store.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Store } from '#storage/store.js';

interface Running {
  readonly server: CompleteApiServer;
  readonly pki: ClusterPki;
  readonly directory: string;
  readonly store: Store;
  as(user: UserInfo): Client;
  stop(): Promise<void>;
}

async function startServer(t: Test, given?: { store: Store; directory: string }): Promise<Running> {
  const directory = given?.directory ?? (await mkdtemp(join(tmpdir(), 'api-')));
  const store = given?.store ?? new MemoryStore({ clock: realClock });
  const pki = await ensureClusterPki(directory, { dialect, names: [], ips: ['10.0.0.1'], now: Date.now() });
  await writeFile(join(directory, 'tokens.csv'), 'admin-token,admin,1,"system:masters"\nalice-token,alice,2,dev\n');
  const file = (name: string) => join(directory, name);
  const argv = [
    ...['--bind-address', '127.0.0.1', '--advertise-address', '192.0.2.9', '--secure-port', '0'],
    ...['--tls-cert-file', file('apiserver.crt'), '--tls-private-key-file', file('apiserver.key')],
    ...['--client-ca-file', file('ca.crt'), '--token-auth-file', file('tokens.csv')],
    ...['--authorization-mode', 'Node,RBAC', '--enable-admission-plugins', 'NodeRestriction'],
    ...['--service-account-issuer', 'https://api.example', '--service-cluster-ip-range', '10.0.0.0/24'],
    ...['--service-account-signing-key-file', file('sa.key'), '--service-account-key-file', file('sa.pub')],
    ...['--nodeagent-certificate-authority', file('ca.crt')],
    ...['--nodeagent-client-certificate', file('apiserver-nodeagent-client.crt')],
    ...['--nodeagent-client-key', file('apiserver-nodeagent-client.key')],
  ];
  const parsed = parseOptions(apiServerOptions(dialect), argv, { program: 'test' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  // On the command line, port 0 means no socket; tests listen on a free port instead.
  const { values } = parsed;
  const base = { dialect, clock: realClock, log: silentLogger, random: Math.random, store };
  const built = await buildApiServer({ ...base, values, listenOnAnyPort: true });
  const stopping = new AbortController();
  const work = built.start(stopping.signal);
  await built.ready();
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopping.abort();
    stopped ??= work;
    return stopped;
  };
  t.teardown(stop);
  if (given === undefined)
    t.teardown(async () => {
      await store.close();
      await rm(directory, { recursive: true });
    });
  const as = (user: UserInfo): Client => {
    const transport = new InProcessTransport({ handler: built.handler, user });
    const client = new RestClient({ transport, dialect, clock: realClock });
    t.teardown(() => client.close());
    return client;
  };
  return { server: built, pki, directory, store, as, stop };
}

const alice: UserInfo = { name: 'alice', groups: ['dev'] };
const failure = (reason: string, message: RegExp) => ({ name: 'StatusError', status: { reason }, message });

async function until<T>(read: () => Promise<T>, good: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read();
    if (good(value)) return value;
    await realClock.sleep(10);
  }
}

t.test('a new cluster gets its own objects, and a restart completes but never overwrites them', async (t) => {
  const first = await startServer(t);
  const { client } = first.server;
  const names = (await client.resource(namespaces).list()).items.map(({ metadata }) => metadata.name);
  t.same(names, ['default', 'orch-node-lease', 'orch-public', 'orch-system']);
  const roles = client.resource<ClusterRole>(clusterroles);
  const admin = await roles.get('admin');
  t.match(admin.aggregationRule, { clusterRoleSelectors: [{ matchLabels: {} }] });
  t.same(admin.rules ?? [], [], 'the controller manager fills in the rules');
  const api = await client.resource<Service>(services).get('orch', { namespace: 'default' });
  t.match(api.spec, { clusterIP: '10.0.0.1', ports: [{ port: 443, targetPort: first.server.address?.port }] });
  const own = await client.resource<Endpoints>(endpoints).get('orch', { namespace: 'default' });
  t.same(own.subsets?.[0]?.addresses, [{ ip: '192.0.2.9' }]);
  const clusterAdmin = await roles.get('cluster-admin');
  const view = await roles.get('view');
  await roles.update({ ...view, metadata: { ...view.metadata, labels: { ...view.metadata.labels, mine: 'yes' } } });
  const edit = await roles.get('system:aggregate-to-edit');
  await roles.update({ ...edit, rules: [] });
  await first.stop();

  const second = await startServer(t, first);
  const again = second.server.client.resource<ClusterRole>(clusterroles);
  t.equal((await again.get('view')).metadata.labels?.['mine'], 'yes');
  t.not((await again.get('system:aggregate-to-edit')).rules?.length ?? 0, 0, 'completed');
  const { resourceVersion } = (await again.get('cluster-admin')).metadata;
  t.equal(resourceVersion, clusterAdmin.metadata.resourceVersion, 'not written again');
  await second.stop();
});

t.test('users have the rights of their bindings, and cannot grant more', async (t) => {
  const { server, as } = await startServer(t);
  const client = as(alice);
  const own = client.resource<Pod>(pods);
  await t.rejects(
    own.list({ namespace: 'default' }),
    failure(
      'Forbidden',
      /^pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default"$/,
    ),
  );
  const binding = (name: string, role: string): RoleBinding => ({
    metadata: { name, namespace: 'default' },
    roleRef: { apiGroup: dialect.groupName('rbac'), kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'Group', apiGroup: dialect.groupName('rbac'), name: 'dev' }],
  });
  // The aggregated administrator role stays empty: no controller manager runs.
  for (const part of ['admin', 'view'])
    await server.client
      .resource<RoleBinding>(rolebindings)
      .create(binding(`${part}s`, `system:aggregate-to-${part}`), { namespace: 'default' });
  await until(
    () =>
      own.list({ namespace: 'default' }).then(
        () => true,
        () => false,
      ),
    (ok) => ok,
  );
  await t.rejects(own.list(), failure('Forbidden', /at the cluster scope/));
  const bindings = client.resource<RoleBinding>(rolebindings);
  const hand = (role: string) => bindings.create(binding(role.replace(':', '-'), role), { namespace: 'default' });
  t.ok(await hand('system:aggregate-to-view'));
  await t.rejects(
    hand('cluster-admin'),
    failure('Forbidden', /attempting to grant RBAC permissions not currently held/),
  );
});

const pod = (name: string, more: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...more },
});

t.test('pods get an account, and their node a token for it', async (t) => {
  const { server, as } = await startServer(t);
  const { client } = server;
  const create = (object: Pod) => client.resource<Pod>(pods).create(object, { namespace: 'default' });
  await t.rejects(create(pod('early')), failure('Forbidden', /serviceaccount "default" not found/));
  await client
    .resource<ServiceAccount>(serviceaccounts)
    .create({ metadata: { name: 'default', namespace: 'default' } });
  const created = await create(pod('web', { nodeName: 'n1' }));
  t.match(created.spec, { serviceAccountName: 'default', serviceAccount: 'default', priority: 0 });
  t.match(created.spec.volumes?.[0]?.name, /^orch-api-access-.....$/);
  const sibling = await create(pod('sibling', { nodeName: 'n1' }));
  const volume = sibling.spec.volumes?.[0]?.name ?? '';
  t.match(volume, /^orch-api-access-.....$/);
  t.not(volume, created.spec.volumes?.[0]?.name, 'each pod has its own name');
  t.equal(sibling.spec.containers[0]?.volumeMounts?.[0]?.name, volume);
  t.equal(created.spec.tolerations?.length, 2);
  await t.rejects(
    create({ ...pod('x'), metadata: { name: 'x', namespace: 'none' } }),
    failure('NotFound', /namespaces "none" not found/),
  );

  const node = as({ name: 'system:node:n1', groups: ['system:nodes'] });
  const other = as({ name: 'system:node:n2', groups: ['system:nodes'] });
  const ask = (from: Client, uid = created.metadata.uid ?? '') =>
    from.resource<ServiceAccount>(serviceaccounts).createSubresource<TokenRequest>(
      'default',
      'token',
      {
        spec: {
          audiences: [],
          expirationSeconds: 3607,
          boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web', uid },
        },
      },
      { namespace: 'default' },
    );
  const answer = await until(
    () => ask(node).catch(() => undefined),
    (value) => value !== undefined,
  );
  await t.rejects(ask(other), failure('Forbidden', /no relationship found between node 'n2' and this object/));
  await t.rejects(ask(node, 'wrong'), failure('Forbidden', /does not match the UID in record/));
  const response = await server.handler({
    method: 'GET',
    url: '/api/v1/namespaces/default/pods',
    headers: { authorization: `Bearer ${answer?.status?.token}` },
    body: Buffer.alloc(0),
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
  });
  t.match(String(response.body), /User \\"system:serviceaccount:default:default\\" cannot list/);

  const own = client.resource<Secret>(secrets);
  for (const name of ['used', 'unused']) await own.create({ metadata: { name, namespace: 'default' } });
  await create(pod('reader', { nodeName: 'n1', volumes: [{ name: 's', secret: { secretName: 'used' } }] }));
  const read = (name: string) => node.resource<Secret>(secrets).get(name, { namespace: 'default' });
  await until(
    () =>
      read('used').then(
        () => true,
        () => false,
      ),
    (ok) => ok,
  );
  await t.rejects(read('unused'), failure('Forbidden', /no relationship found/));
});

t.test('Services keep their addresses and ports until they are deleted', async (t) => {
  const { server } = await startServer(t);
  const own = server.client.resource<Service>(services);
  const scope = { namespace: 'default' };
  const make = (name: string, spec: Service['spec']) =>
    own.create(
      { metadata: { name, namespace: 'default' }, spec: { selector: { a: 'b' }, ports: [{ port: 80 }], ...spec } },
      scope,
    );
  const web = await make('web', { clusterIP: '10.0.0.77', type: 'NodePort' });
  const port = web.spec?.ports?.[0]?.nodePort ?? 0;
  t.ok(port >= 30_000);
  await t.rejects(make('other', { clusterIP: '10.0.0.77' }), failure('Invalid', /provided IP is already allocated/));
  await own.update({ ...web, metadata: { ...web.metadata, labels: { a: 'b' } } }, scope);
  await own.delete('web', scope);
  const next = await make('next', { clusterIP: '10.0.0.77', type: 'NodePort', ports: [{ port: 80, nodePort: port }] });
  t.equal(next.spec?.clusterIP, '10.0.0.77');
  await t.rejects(
    server.client.resource(namespaces).delete('default'),
    failure('Forbidden', /this namespace may not be deleted/),
  );
});

t.test('logs and streams reach the node agent', async (t) => {
  const { server, pki, directory } = await startServer(t);
  const files = directoryStore(directory);
  const names = { dialect, nodeName: 'n1', names: [], ips: ['127.0.0.1'], now: Date.now() };
  const { serving } = await ensureNodePki(files, pki.authority, names);
  const seen: string[] = [];
  const agent = createHttpsServer(
    {
      cert: serving.certificate,
      key: serving.privateKey,
      ca: pki.authority.certificate,
      requestCert: true,
      rejectUnauthorized: true,
    },
    (req, res) => {
      seen.push(
        `${(req.socket as TLSSocket).getPeerCertificate().subject.CN} ${req.url} ${req.headers.authorization ?? '-'}`,
      );
      if (req.url?.startsWith('/containerLogs/default/web/init') === true)
        res.writeHead(400).end('container "init" is waiting to start');
      else if (/^\/(page|text)/.test(req.url ?? '')) {
        const text = `<a href="/a"><a href="b"><a href="//api.test/c"> ${req.headers['x-forwarded-uri']}`;
        const zipped = req.url === '/page?gzip';
        const body = zipped ? gzipSync(text) : Buffer.from(text);
        res.writeHead(200, {
          'content-type': `text/${req.url?.startsWith('/page') === true ? 'html; charset=utf-8' : 'plain'}`,
          'content-length': body.length,
          'access-control-allow-origin': '*',
          ...(zipped ? { 'content-encoding': 'gzip' } : {}),
        });
        res.end(body);
      } else if (req.url === '/moved')
        res.writeHead(302, { location: '/other?x=/y', 'set-cookie': ['a=1', 'b=2'] }).end();
      else res.end(`one\ntwo\n`);
    },
  );
  const streams = new WebSocketServer({ server: agent, handleProtocols: () => 'v4.channel.k8s.io' });
  streams.on('connection', (socket, req) => {
    seen.push(`${req.url} ${req.headers.authorization ?? '-'}`);
    socket.on('message', (data: Buffer) => socket.send(data));
  });
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    agent.closeAllConnections();
    streams.close();
    agent.close();
  });
  const { client } = server;
  await client
    .resource<ServiceAccount>(serviceaccounts)
    .create({ metadata: { name: 'default', namespace: 'default' } });
  const node: Node = { metadata: { name: 'n1' }, spec: {} };
  const registered = await client.resource<Node>(nodes).create(node);
  t.same(
    registered.spec?.taints?.map(({ key }) => key),
    ['node.orch.io/not-ready'],
  );
  await client.resource<Node>(nodes).updateStatus({
    ...registered,
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: (agent.address() as AddressInfo).port } },
    },
  });
  const containers = [{ name: 'c', image: 'i' }];
  await client
    .resource<Pod>(pods)
    .create(pod('web', { nodeName: 'n1', containers, initContainers: [{ name: 'init', image: 'i' }] }), {
      namespace: 'default',
    });
  const get = async (path: string) => {
    const response = await server.handler({
      method: 'GET',
      url: path,
      headers: { authorization: 'Bearer admin-token' },
      body: Buffer.alloc(0),
      remoteAddress: '127.0.0.1',
      signal: new AbortController().signal,
    });
    const parts: Buffer[] = [];
    if (Buffer.isBuffer(response.body)) parts.push(response.body);
    else for await (const part of response.body ?? []) parts.push(part);
    return { status: response.status, text: Buffer.concat(parts).toString() };
  };
  const base = '/api/v1/namespaces/default/pods/web';
  t.same(await get(`${base}/log?follow=true&tailLines=5&timestamps=0`), { status: 200, text: 'one\ntwo\n' });
  t.equal(seen.at(-1), 'orch-apiserver-nodeagent-client /containerLogs/default/web/c?follow=true&tailLines=5 -');
  t.match(await get(`${base}/log?container=init`), { status: 400, text: /container \\"init\\" is waiting to start/ });
  t.match(await get(`${base}/log?container=none`), { status: 400, text: /container none is not valid for pod web/ });
  t.match(await get(`${base}/log?tailLines=-1`), { status: 422 });
  const logMessages = (query: string, protocols: string[]) =>
    new Promise<string[]>((resolve) => {
      const headers = { authorization: 'Bearer admin-token' };
      const address = `wss://127.0.0.1:${server.address?.port}${base}/log${query}`;
      const stream = new WebSocket(address, protocols, { ca: pki.authority.certificate, headers });
      const messages: string[] = [];
      stream.on('message', (data: Buffer, binary) => messages.push(`${binary ? 'bytes' : 'text'} ${data.toString()}`));
      stream.on('error', (error) => resolve([error.message]));
      stream.on('close', () => resolve([stream.protocol, ...messages]));
    });
  t.same(await logMessages('?follow=true', []), ['', 'bytes ', 'bytes one\ntwo\n']);
  t.same(await logMessages('', ['other', 'binary.k8s.io']), ['binary.k8s.io', 'bytes ', 'bytes one\ntwo\n']);
  t.same(await logMessages('', ['base64.binary.k8s.io']), ['base64.binary.k8s.io', 'text ', 'text b25lCnR3bwo=']);
  t.same(await logMessages('', ['other']), ['Unexpected server response: 403']);
  t.same(await logMessages('?container=init', []), ['Unexpected server response: 400']);
  const proxied = async (path: string) => {
    const at = '/api/v1/nodes/n1/proxy';
    const answer = await server.handler({
      method: 'GET',
      url: at + path,
      headers: { authorization: 'Bearer admin-token', host: 'api.test' },
      body: Buffer.alloc(0),
      remoteAddress: '127.0.0.1',
      signal: new AbortController().signal,
    });
    const parts: Buffer[] = [];
    for await (const part of answer.body as AsyncIterable<Buffer>) parts.push(part);
    const whole = Buffer.concat(parts);
    const text = answer.headers['content-encoding'] === 'gzip' ? gunzipSync(whole) : whole;
    return { headers: answer.headers, cookies: answer.cookies, text: text.toString().replaceAll(at, 'PROXY') };
  };
  const page = await proxied('/page');
  t.equal(page.text, '<a href="PROXY/a"><a href="b"><a href="PROXY/c"> PROXY/page');
  t.same([page.headers['content-length'], page.headers['access-control-allow-origin']], [undefined, undefined]);
  t.equal((await proxied('/page?gzip')).text, page.text);
  t.equal((await proxied('/text')).text, '<a href="/a"><a href="b"><a href="//api.test/c"> PROXY/text');
  const moved = await proxied('/moved');
  t.equal(moved.headers['location'], '/api/v1/nodes/n1/proxy/other?x=/y');
  t.same(moved.cookies, ['a=1', 'b=2'], 'cookies are not joined');
  t.same(await get('/api/v1/nodes/n1/proxy/stats/summary?x=1'), { status: 200, text: 'one\ntwo\n' });
  t.match(seen.at(-1), / \/stats\/summary\?x=1 -$/);

  const url = `wss://127.0.0.1:${server.address?.port}${base}/exec?command=sh&command=-c&stdin=1&stdout=1&tty=true`;
  const open = (headers: Record<string, string>) =>
    new WebSocket(url, ['v5.channel.k8s.io', 'v4.channel.k8s.io'], { ca: pki.authority.certificate, headers });
  const socket = open({ authorization: 'Bearer admin-token' });
  const echoed = await new Promise<string>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => socket.send(Buffer.alloc(200_000, 7)));
    socket.on('message', (data: Buffer) => resolve(`${data.length} ${data[0]} ${socket.protocol}`));
  });
  t.equal(echoed, '200000 7 v4.channel.k8s.io');
  t.equal(seen.at(-1), '/exec/default/web/c?input=1&output=1&tty=1&command=sh&command=-c -');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (const each of streams.clients) each.close();
  await closed;
  const refused = await new Promise<string>((resolve) => {
    open({ authorization: 'Bearer alice-token' }).on('error', (error) => resolve(error.message));
  });
  t.match(refused, /403/);

  const connect = (path: string) =>
    new Promise<string>((resolve) => {
      const headers = { authorization: 'Bearer admin-token' };
      const address = `wss://127.0.0.1:${server.address?.port}${base}/${path}`;
      const stream = new WebSocket(address, ['v4.channel.k8s.io'], { ca: pki.authority.certificate, headers });
      stream.on('error', (error) => resolve(error.message));
      stream.on('open', () => {
        stream.close();
        resolve(seen.at(-1) ?? '');
      });
    });
  t.equal(await connect('attach?stdin=1&stderr=true'), '/attach/default/web/c?input=1&error=1 -');
  t.equal(await connect('attach?stdout=1&container=init'), '/attach/default/web/init?output=1 -');
  t.equal(await connect('portforward?ports=80&ports=443'), '/portForward/default/web?port=80&port=443 -');
  for (const bad of [
    'exec?stdout=1',
    'exec?command=sh',
    'exec?command=sh&stdout=1&container=none',
    'attach',
    'attach?stderr=1&tty=1',
    'portforward?ports=0',
    'portforward?ports=web',
  ]) {
    t.match(await connect(bad), /400/, bad);
  }
  for (const subresource of ['exec?command=sh&stdout=1', 'attach?stdout=1', 'portforward']) {
    t.match(await get(`${base}/${subresource}`), { status: 400, text: /Upgrade request required/ }, subresource);
  }
  t.match(await get(`${base}/exec?command=sh&stdout=1&container=none`), { status: 400, text: /container none is not/ });
  for (const subresource of ['log', 'exec?command=sh&stdout=1', 'attach?stdout=1', 'portforward']) {
    t.match(await get(`${base.replace('web', 'none')}/${subresource}`), { status: 404 }, subresource);
  }
  t.match(await get(`${base}/proxy/`), { status: 400, text: /address not allowed/ }, 'it has no address yet');
  t.match(await get(`${base}/proxy`), { status: 400, text: /address not allowed/ }, 'the same without a path');
  t.match(await get('/api/v1/namespaces/default/services/none/proxy/'), { status: 404 });
  t.match(await get('/api/v1/nodes/none/proxy/'), { status: 404 });
  // With its rights at agents, a request to itself could read all objects.
  const self = await client.resource<Node>(nodes).create({ metadata: { name: 'self' }, spec: {} });
  const port = server.address?.port ?? 0;
  await client.resource<Node>(nodes).updateStatus({
    ...self,
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  });
  const own = { status: 400, text: /address not allowed/ };
  t.match(await get('/api/v1/nodes/self/proxy/api/v1/secrets'), own, 'the server itself is not an agent');
});

t.test('two servers on one store agree', async (t) => {
  const first = await startServer(t);
  const { store, directory } = first;
  const [second, third] = await Promise.all([
    startServer(t, { store, directory }),
    startServer(t, { store, directory }),
  ]);
  const scope = { namespace: 'default' };
  const make = ({ server }: Running, name: string) =>
    server.client
      .resource<Service>(services)
      .create({ metadata: { name, namespace: 'default' }, spec: { type: 'NodePort', ports: [{ port: 80 }] } }, scope);
  const all = [second, third, first];
  const created = await Promise.all(Array.from({ length: 30 }, (_, i) => make(all[i % 3] ?? first, `s${i}`)));
  t.equal(new Set(created.map(({ spec }) => spec?.clusterIP)).size, 30);
  t.equal(new Set(created.map(({ spec }) => spec?.ports?.[0]?.nodePort)).size, 30);
  t.equal((await third.server.client.resource(services).list()).items.length, 31);
});

t.test('componentstatuses show the health of components, with a deprecation warning', async (t) => {
  const { server } = await startServer(t);
  const transport = new InProcessTransport({
    handler: server.handler,
    user: { name: 'a', groups: ['system:masters'] },
  });
  t.teardown(() => transport.close());
  const { headers, body } = await transport.request({ method: 'GET', path: '/api/v1/componentstatuses', headers: {} });
  t.match(JSON.parse((await readAll(body)).toString()), {
    kind: 'ComponentStatusList',
    items: [
      { metadata: { name: 'controller-manager' } },
      { metadata: { name: 'etcd-0' }, conditions: [{ type: 'Healthy', status: 'True' }] },
      { metadata: { name: 'scheduler' } },
    ],
  });
  t.equal(headers['warning'], '299 - "v1 ComponentStatus is deprecated in v1.19+"');
});

t.test("only permitted users can read the machine's logs", async (t) => {
  const { server } = await startServer(t);
  const ask = async (path: string, method: string, user: UserInfo) => {
    const transport = new InProcessTransport({ handler: server.handler, user });
    t.teardown(() => transport.close());
    const { status, body } = await transport.request({ method, path, headers: {} });
    return { status, body: (await readAll(body)).toString() };
  };
  const admin: UserInfo = { name: 'a', groups: ['system:masters'] };
  t.match(await ask('/logs/', 'GET', admin), { status: 200, body: /^<pre>\n/ });
  t.match(await ask('/logs', 'GET', admin), { status: 301 });
  t.match(await ask('/logs/none', 'GET', admin), { status: 404, body: '404 page not found\n' });
  t.match(await ask('/logs/..%2fetc/passwd', 'GET', admin), { status: 400 });
  t.match(await ask('/logsx', 'GET', admin), { status: 404, body: '404 page not found\n' });
  t.match(await ask('/logs/', 'POST', admin), { status: 405, body: '405: Method Not Allowed' });
  t.match(await ask('/logs/', 'GET', alice), { status: 403 });
  const { body } = await ask('/', 'GET', admin);
  t.ok(JSON.parse(body).paths.includes('/logs'));
  t.notMatch(body, '*');
});

t.test('a client certificate authenticates its user if a trusted authority signed it', async (t) => {
  const { server, pki } = await startServer(t);
  const foreign = await createAuthority({ commonName: 'orch-ca', now: Date.now() });
  const subject = { commonName: 'mallory', organizations: ['system:masters'] };
  const forged = await issueCertificate(foreign, { subject, usages: ['client'], now: Date.now() });
  const status = (pair: KeyCertificate) =>
    new Promise<number>((resolve, reject) => {
      const { certificate: cert, privateKey: key } = pair;
      const ca = pki.authority.certificate;
      request(
        { host: '127.0.0.1', port: server.address?.port, path: '/api/v1/nodes', ca, cert, key, agent: false },
        (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        },
      )
        .on('error', reject)
        .end();
    });
  t.equal(await status(pki.admin), 200);
  t.equal(await status(pki.scheduler), 200);
  t.equal(await status(pki.frontProxyClient), 401);
  t.equal(await status(forged), 401);
});

t.test('new connections get a replaced serving certificate', async (t) => {
  const { server, pki, directory } = await startServer(t);
  const serial = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls(
        { host: '127.0.0.1', port: server.address?.port, ca: pki.authority.certificate },
        () => {
          resolve(socket.getPeerCertificate().serialNumber);
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });
  const before = await serial();
  const subject = { commonName: 'renewed', organizations: [] };
  const created = await issueCertificate(pki.authority, {
    subject,
    usages: ['server'],
    ips: ['127.0.0.1'],
    now: Date.now(),
  });
  const files = directoryStore(directory);
  await files.write('apiserver.key', created.privateKey, 0o600);
  await files.write('apiserver.crt', created.certificate, 0o644);
  t.not(await until(serial, (now) => now !== before), before);
});

t.test('the start fails if the port is in use, and the store stays usable', async (t) => {
  const first = await startServer(t);
  const port = first.server.address?.port ?? 0;
  const file = (name: string) => join(first.directory, name);
  const argv = [
    ...['--bind-address', '127.0.0.1', '--secure-port', String(port), '--service-account-issuer', 'i'],
    ...['--tls-cert-file', file('apiserver.crt'), '--tls-private-key-file', file('apiserver.key')],
    ...['--service-account-signing-key-file', file('sa.key')],
  ];
  const parsed = parseOptions(apiServerOptions(dialect), argv, { program: 'test' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  const { store } = first;
  const second = await buildApiServer({
    values: parsed.values,
    dialect,
    clock: realClock,
    log: silentLogger,
    random: Math.random,
    store,
  });
  await t.rejects(second.start(new AbortController().signal), { code: 'EADDRINUSE' } as unknown as Error);
  await t.rejects(second.ready(), { code: 'EADDRINUSE' } as unknown as Error);
  await second.close();
  t.ok(await first.server.client.resource(namespaces).get('default'));
});

t.test('missing options and unusable files are refused', async (t) => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const directory = await mkdtemp(join(tmpdir(), 'api-'));
  t.teardown(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, 'bad.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const build = async (...argv: string[]) => {
    const base = ['--service-account-issuer', 'i', '--service-account-signing-key-file', join(directory, 'bad.key')];
    const parsed = parseOptions(apiServerOptions(dialect), [...base, ...argv], { program: 'test' });
    if (parsed.kind !== 'run') throw new Error(parsed.kind);
    return buildApiServer({ values: parsed.values, dialect, clock: realClock, log: silentLogger, random: Math.random });
  };
  await t.rejects(build(), { message: '--etcd-servers must be specified' });
  await t.rejects(build('--etcd-servers', 'http://127.0.0.1:1'), {
    message: /--service-account-signing-key-file: cannot use a key/,
  });
});

t.test(
  'the root lists each path once, and metrics have the series of 1.24 for admission and authentication',
  async (t) => {
    const { server, as } = await startServer(t);
    const { paths } = await server.client.request<{ paths: string[] }>('GET', '/');
    t.ok(paths.includes('/metrics'));
    t.same(paths, [...new Set(paths)]);
    const data = { metadata: { name: 'c', namespace: 'default' }, data: {} };
    await server.client.resource<ConfigMap>(configmaps).create(data);
    const missing = { metadata: { name: 'c', namespace: 'none' }, data: {} };
    await t.rejects(
      server.client.resource<ConfigMap>(configmaps).create(missing),
      failure('NotFound', /^namespaces "none" not found$/),
    );
    await t.rejects(
      as(alice).resource<ConfigMap>(configmaps).get('c', { namespace: 'default' }),
      failure('Forbidden', /alice/),
    );
    const answer = await server.handler({
      method: 'GET',
      url: '/metrics',
      headers: {},
      body: Buffer.alloc(0),
      remoteAddress: '127.0.0.1',
      signal: new AbortController().signal,
      user: { name: 'root', groups: [dialect.groups.masters] },
    });
    const text = String(answer.body);
    for (const line of [
      /^apiserver_admission_step_admission_duration_seconds_count\{operation="CREATE",rejected="false",type="admit"\} [1-9]/m,
      /^apiserver_admission_step_admission_duration_seconds_count\{operation="CREATE",rejected="false",type="validate"\} [1-9]/m,
      /^apiserver_admission_step_admission_duration_seconds_count\{operation="CREATE",rejected="true",type="admit"\} 1$/m,
      /^apiserver_admission_controller_admission_duration_seconds_count\{name="NamespaceLifecycle",operation="CREATE",rejected="true",type="admit"\} 1$/m,
      /^# TYPE authentication_attempts counter$/m,
      /^# TYPE authenticated_user_requests counter$/m,
      /^# TYPE authentication_token_cache_request_total counter$/m,
    ]) {
      t.match(text, line);
    }
  },
);

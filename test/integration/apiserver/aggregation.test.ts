/** Versions of extension API servers are used like any other, and a failing server affects only its own requests. */
import { once, setMaxListeners } from 'node:events';
import { request } from 'node:https';
import t from 'tap';
import { WebSocket } from 'ws';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import { clusterrolebindings, clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, ClusterRoleBinding } from '#api/rbac/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import {
  type Aggregating,
  addExtension,
  ask,
  condition,
  startAggregating,
} from '#test/integration/apiserver/aggregation/aggregating-server.js';

const isTrue = ({ status }: { status: string }) => status === 'True';
const root = '/apis/echo.example.com/v1';

let aggregating: Aggregating;
t.before(async () => {
  aggregating = await startAggregating(t);
});

async function until(met: () => boolean): Promise<void> {
  while (!met()) await realClock.sleep(20);
}

t.test('requests reach an available server, with the user in headers', async (t) => {
  const { server } = aggregating;
  const extension = await addExtension(t, aggregating, 'echo');
  const service = await condition(aggregating, 'v1.echo.example.com', isTrue);
  t.match(service, { reason: 'Passed', message: 'all checks passed' });
  t.match(await ask(aggregating, 'admin', 'GET', root), { status: 200, json: { kind: 'APIResourceList' } });
  t.equal((await ask(aggregating, 'alice', 'GET', `${root}/echoes`)).status, 403, 'authorized like any other');
  await server.client.resource<ClusterRole>(clusterroles).create({
    metadata: { name: 'echo' },
    rules: [{ apiGroups: ['echo.example.com'], resources: ['*'], verbs: ['*'] }],
  });
  await server.client.resource<ClusterRoleBinding>(clusterrolebindings).create({
    metadata: { name: 'echo' },
    roleRef: { apiGroup: aggregating.dialect.groupName('rbac'), kind: 'ClusterRole', name: 'echo' },
    subjects: [{ apiGroup: aggregating.dialect.groupName('rbac'), kind: 'User', name: 'alice' }],
  });
  const headers = {
    'x-remote-user': 'admin',
    'x-remote-group': 'system:masters',
    'x-remote-extra-scopes': 'all',
    'x-forwarded-for': '192.0.2.1',
    'content-type': 'application/vnd.example',
    'x-custom': 'kept',
    cookie: 'a=b',
  };
  let answer = await ask(aggregating, 'alice', 'POST', `${root}/echoes?pretty=%20x`, { headers, body: 'the body' });
  while (answer.status === 403)
    answer = await ask(aggregating, 'alice', 'POST', `${root}/echoes?pretty=%20x`, { headers, body: 'the body' });
  t.match(answer, {
    status: 200,
    headers: { 'audit-id': String },
    json: {
      method: 'POST',
      url: `${root}/echoes?pretty=%20x`,
      certificate: 'front-proxy-client',
      body: 'the body',
      headers: {
        'content-type': 'application/vnd.example',
        'x-custom': 'kept',
        'x-remote-user': 'alice',
        'x-forwarded-for': '192.0.2.1, 127.0.0.1',
      },
    },
  });
  const { raw, headers: received } = answer.json as { raw: string[]; headers: Record<string, string> };
  const groups = raw.flatMap((text, i) => (text.toLowerCase() === 'x-remote-group' ? [raw[i + 1]] : []));
  t.same(groups, ['dev', 'ops: all', 'system:authenticated']);
  t.equal(received['audit-id'], answer.headers['audit-id'], "both servers' audit logs name the same request");
  t.equal(received['cookie'], 'a=b', 'cookies are forwarded: a program behind a proxy may use them for logins');
  t.notOk('authorization' in received || 'x-remote-extra-scopes' in received);
  t.match(await ask(aggregating, 'alice', 'GET', `${root}/leading`), { status: 502, text: /not permitted/ });
  const other = await ask(aggregating, 'admin', 'GET', '/apis/echo.example.com/v1%2fx/echoes');
  t.equal(other.status, 404, 'an ambiguous path is not forwarded');
  const before = extension.requestedPaths.length;
  t.equal((await ask(aggregating, 'alice', 'HEAD', `${root}/echoes`)).status, 200);
  t.ok(extension.requestedPaths.length > before);
});

t.test('every form of discovery lists the group', async (t) => {
  await addExtension(t, aggregating, 'listed');
  const name = 'listed.example.com';
  const versions = [{ groupVersion: `${name}/v1`, version: 'v1' }];
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';
  let list = await ask(aggregating, 'admin', 'GET', '/apis', { headers: { accept } });
  while (!list.text.includes(name)) list = await ask(aggregating, 'admin', 'GET', '/apis', { headers: { accept } });
  t.match(list.json, { kind: 'APIGroupList' });
  const { groups } = list.json as { groups: { name: string }[] };
  t.match(
    groups.find((group) => group.name === name),
    { versions, preferredVersion: versions[0] },
  );
  t.equal(groups[0]?.name, aggregating.dialect.groupName('apiregistration'));
  const own = await ask(aggregating, 'admin', 'GET', `/apis/${name}`);
  t.match(own, { status: 200, json: { kind: 'APIGroup', name, versions } });
});

t.test('a failing server affects only its own requests', async (t) => {
  const extension = await addExtension(t, aggregating, 'bad');
  await condition(aggregating, 'v1.bad.example.com', isTrue);
  const bad = '/apis/bad.example.com/v1';
  // The client reads nothing, so the server stops reading, too, when its buffers are full.
  const { port } = aggregating;
  const headers = { authorization: 'Bearer admin' };
  const reader = request({
    host: '127.0.0.1',
    port,
    path: `${bad}/huge`,
    headers,
    rejectUnauthorized: false,
    agent: false,
  });
  reader.on('error', () => undefined);
  reader.end();
  const [incoming] = (await once(reader, 'response')) as [import('node:http').IncomingMessage];
  incoming.pause();
  let last = -1;
  while (extension.sent !== last) {
    last = extension.sent;
    await realClock.sleep(300);
  }
  t.ok(extension.sent < 64 * 1024 * 1024, 'held back', { sent: extension.sent });
  reader.destroy();
  await until(() => extension.open.get(`${bad}/huge`) === 0);
  const leaving = new AbortController();
  const wait = () =>
    aggregating.server.handler({
      method: 'GET',
      url: `${bad}/hanging`,
      headers: {},
      body: Buffer.alloc(0),
      remoteAddress: '127.0.0.1',
      user: { name: 'admin', groups: [aggregating.dialect.groups.masters] },
      signal: leaving.signal,
    });
  setMaxListeners(0, leaving.signal);
  const waiting = Array.from({ length: 101 }, wait);
  t.equal((await Promise.race(waiting)).status, 429, 'a hundred requests wait, others get 429');
  t.equal((await ask(aggregating, 'admin', 'GET', '/api/v1/namespaces')).status, 200);
  leaving.abort();
  await Promise.all(waiting);
  await until(() => (extension.open.get(`${bad}/hanging`) ?? 0) === 0);
});

t.test('watches and upgrades last until either side ends them', async (t) => {
  const extension = await addExtension(t, aggregating, 'long');
  await condition(aggregating, 'v1.long.example.com', isTrue);
  const { port } = aggregating;
  const headers = { authorization: 'Bearer admin' };
  const path = '/apis/long.example.com/v1/watched?watch=true';
  const watch = request({ host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false });
  watch.on('error', () => undefined);
  watch.end();
  const [incoming] = (await once(watch, 'response')) as [import('node:http').IncomingMessage];
  const [first] = (await once(incoming, 'data')) as [Buffer];
  t.equal(first.toString(), '{"type":"ADDED"}\n');
  watch.destroy();
  await until(() => extension.open.get('/apis/long.example.com/v1/watched') === 0);
  const socket = new WebSocket(`wss://127.0.0.1:${port}/apis/long.example.com/v1/echoes`, {
    headers,
    rejectUnauthorized: false,
  });
  await once(socket, 'open');
  socket.send('hello');
  const [message] = (await once(socket, 'message')) as [Buffer];
  t.equal(message.toString(), 'admin: hello');
  socket.close();
  const spdy = request({
    ...{ host: '127.0.0.1', port, method: 'POST', path: '/apis/long.example.com/v1/echoes/a/exec' },
    headers: { ...headers, connection: 'Upgrade', upgrade: 'SPDY/3.1' },
    rejectUnauthorized: false,
    agent: false,
  });
  spdy.end();
  const [, tunnel] = (await once(spdy, 'upgrade')) as [unknown, import('node:net').Socket];
  tunnel.write('frames');
  const [echoed] = (await once(tunnel, 'data')) as [Buffer];
  t.equal(echoed.toString(), 'frames');
  tunnel.destroy();
});

t.test('an untrusted or unresponsive server is not available', async (t) => {
  const { server, pki } = aggregating;
  const ca = Buffer.from(pki.frontProxyAuthority.certificate).toString('base64');
  await addExtension(t, aggregating, 'strange', { spec: { caBundle: ca } });
  const strange = await condition(aggregating, 'v1.strange.example.com', ({ status }) => status === 'False');
  t.match(strange, {
    reason: 'FailedDiscoveryCheck',
    message: /^failing or missing response from https:\/\/localhost:\d+\/apis\/strange/,
  });
  t.match(await ask(aggregating, 'admin', 'GET', '/apis/strange.example.com/v1'), {
    status: 503,
    text: 'service unavailable\n',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  });
  const own = server.client.resource<APIService>(apiservices);
  const health = { status: 500 };
  await addExtension(t, aggregating, 'ill', { health });
  const ill = await condition(aggregating, 'v1.ill.example.com', ({ status }) => status === 'False');
  t.match(ill.message, /: bad status from https:\/\/localhost:\d+\/apis\/ill.example.com\/v1: 500$/);
  health.status = 200;
  await condition(aggregating, 'v1.ill.example.com', isTrue);
  await own.delete('v1.ill.example.com');
  const gone = () => ask(aggregating, 'admin', 'GET', '/apis/ill.example.com/v1/echoes');
  while ((await gone()).status !== 404) await realClock.sleep(20);
  const metrics = await ask(aggregating, 'admin', 'GET', '/metrics');
  t.match(metrics.text, /aggregator_unavailable_apiservice\{name="v1.strange.example.com"\} 1/);
  t.notMatch(metrics.text, /aggregator_unavailable_apiservice\{name="v1.ill/);
});

t.test('versions that this server serves itself are registered and reconciled', async (t) => {
  const { server, dialect } = aggregating;
  const own = server.client.resource<APIService>(apiservices);
  const until = async (name: string, isExpected: (service: APIService | undefined) => boolean) => {
    for (;;) {
      const service = await own.get(name).catch(() => undefined);
      if (isExpected(service)) return service;
      await realClock.sleep(10);
    }
  };
  const is = (service: APIService | undefined) => service !== undefined;
  const labels = (value: string) => ({ [dialect.labels.autoManaged]: value });
  t.match(await until('v1.', is), {
    metadata: { labels: labels('onstart') },
    spec: { version: 'v1', groupPriorityMinimum: 18_000, versionPriority: 1 },
    status: { conditions: [{ type: 'Available', status: 'True', reason: 'Local' }] },
  });
  t.match(await until(`v2.${dialect.groupName('autoscaling')}`, is), {
    spec: { groupPriorityMinimum: 17_500, versionPriority: 30 },
  });
  t.equal(await own.get(`v1.${dialect.groupName('apiregistration')}`).catch(() => undefined), undefined);
  await own.delete('v1.batch');
  const group = 'kept.example.com';
  const definitions = `/apis/${dialect.apiVersion('apiextensions', 'v1')}/customresourcedefinitions`;
  const version = (name: string) => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: { openAPIV3Schema: { type: 'object' } },
  });
  const names = { plural: 'things', kind: 'Thing' };
  const definition = {
    apiVersion: dialect.apiVersion('apiextensions', 'v1'),
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: { group, scope: 'Namespaced', names, versions: [version('v1'), version('v2')] },
  };
  await server.client.request('POST', definitions, definition);
  t.match(await until(`v2.${group}`, is), {
    metadata: { labels: labels('true') },
    spec: { group, version: 'v2', groupPriorityMinimum: 1000, versionPriority: 100 },
  });
  const created = (await until(`v1.${group}`, is)) as APIService;
  await own.update({ ...created, spec: { ...created.spec, versionPriority: 7 } });
  await until(`v1.${group}`, (service) => service?.spec.versionPriority === 100);
  await own.delete(`v1.${group}`);
  const isAnother = (service: APIService | undefined) => is(service) && service?.metadata.uid !== created.metadata.uid;
  const again = (await until(`v1.${group}`, isAnother)) as APIService;
  // Without the label, the object belongs to the user.
  await own.update({ ...again, metadata: { ...again.metadata, labels: {} } });
  await server.client.request('DELETE', `${definitions}/things.${group}`);
  await until(`v2.${group}`, (service) => service === undefined);
  t.match((await own.get(`v1.${group}`)).spec, { group });
  t.equal(await own.get('v1.batch').catch(() => undefined), undefined, 'a built-in one is kept on start only');
});

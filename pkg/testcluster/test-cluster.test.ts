import { access } from 'node:fs/promises';
import { request } from 'node:https';
import t from 'tap';
import { configmaps, namespaces, nodes, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { badRequest, tooManyRequests } from '#apimachinery/errors/status.js';
import { parseKubeconfig } from '#client/kubeconfig/file.js';
import { clientConfigFrom } from '#client/kubeconfig/load.js';
import type { TestFeatureFactory, TestRequest } from '#testcluster/feature/feature.js';
import { type StartedTestCluster, startTestCluster } from '#testcluster/start-test-cluster.js';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly body: any;
}

async function ask(cluster: StartedTestCluster, method: string, path: string, body?: string): Promise<Answer> {
  const config = clientConfigFrom(parseKubeconfig(cluster.kubeconfig()), { clock: realClock, directory: '.' });
  const tls = await config.tls?.current();
  return send(`${config.server}${path}`, method, { ca: tls?.ca, cert: tls?.cert, key: tls?.key }, body);
}

function send(url: string, method: string, tls: object, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, ...tls, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      const { headers } = response;
      const isJson = headers['content-type']?.includes('json') === true;
      const body = () => (isJson ? JSON.parse(text) : text);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers, body: body() }));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

t.test('features answer below /test and stand before the API', async (t) => {
  const calls: string[] = [];
  const echo: TestFeatureFactory = (cluster) => ({
    endpoints: [
      {
        path: '/test/echo',
        methods: ['GET', 'POST'],
        async handle({ method, query, body }: TestRequest) {
          if (body === 'wrong') throw badRequest('the body is wrong');
          return { method, name: query.get('name'), body, product: cluster.dialect.product };
        },
      },
    ],
    around(observed, next) {
      if (observed.info.resource === 'configmaps' && observed.info.name === 'refused') {
        throw tooManyRequests('told so', 1);
      }
      return next();
    },
    started: async () => void calls.push('started'),
    close: async () => void calls.push('closed'),
  });
  const cluster = await startTestCluster({ controllers: 'none', features: [echo] });
  t.teardown(() => cluster.close());
  t.same(calls, ['started']);
  t.match(await ask(cluster, 'GET', '/test'), {
    status: 200,
    body: { endpoints: [{ path: '/test/echo', methods: ['GET', 'POST'] }] },
  });
  t.match(await ask(cluster, 'POST', '/test/echo?name=a', '{"b":1}'), {
    status: 200,
    body: { method: 'POST', name: 'a', body: { b: 1 } },
  });
  t.match(await ask(cluster, 'POST', '/test/echo', '"wrong"'), {
    status: 400,
    body: { kind: 'Status', message: 'the body is wrong' },
  });
  t.match(await ask(cluster, 'POST', '/test/echo', '{'), { status: 400, body: { message: /^the body is not JSON/ } });
  t.match(await ask(cluster, 'DELETE', '/test/echo'), { status: 405, headers: { allow: 'GET, POST' } });
  t.match(await ask(cluster, 'GET', '/test/nothing'), { status: 404 });
  const anonymous = await send(`${cluster.url()}/test/echo`, 'GET', { rejectUnauthorized: false });
  t.equal(anonymous.status, 403, 'a user without the right to the path is refused');
  const maps = cluster.cluster.client.resource(configmaps);
  await t.rejects(maps.get('refused', { namespace: 'default' }), /told so/, 'a feature answers in place of the API');
  await t.rejects(maps.get('other', { namespace: 'default' }), /not found/);
  await cluster.close();
  t.same(calls, ['started', 'closed']);
});

t.test('without controllers, pods are created and nothing runs', async (t) => {
  const cluster = await startTestCluster({ controllers: 'none', port: 0 });
  t.teardown(() => cluster.close());
  t.throws(() => cluster.url(), /has no port/);
  const { client } = cluster.cluster;
  const pod = { metadata: { name: 'a', namespace: 'default' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  t.equal((await client.resource(pods).create(pod)).status?.phase, 'Pending');
  t.same((await client.resource(nodes).list()).items, []);
});

t.test('a list of controllers runs those', async (t) => {
  const cluster = await startTestCluster({ controllers: 'namespace', port: 0 });
  t.teardown(() => cluster.close());
  const all = cluster.cluster.client.resource(namespaces);
  await all.create({ metadata: { name: 'gone' }, spec: {} });
  await all.delete('gone');
  const signal = AbortSignal.timeout(20_000);
  for await (const { type, object } of all.watch({ signal })) {
    if (type === 'DELETED' && object.metadata.name === 'gone') break;
  }
  t.notOk(signal.aborted, 'the namespace is removed');
  const accounts = await cluster.cluster.client.resource(serviceaccounts).list();
  t.same(accounts.items, [], 'other controllers do not run');
});

t.test('pods run on simulated nodes, and nothing is left', async (t) => {
  const cluster = await startTestCluster({ controllers: 'all', nodes: 2, dialect: 'orch' });
  t.teardown(() => cluster.close());
  const { client } = cluster.cluster;
  const pod = { metadata: { name: 'a', namespace: 'default' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await client.resource(pods).create(pod);
  const signal = AbortSignal.timeout(20_000);
  for await (const { object } of client.resource(pods).watch({ namespace: 'default', signal })) {
    if (object.status?.phase === 'Running') break;
  }
  t.notOk(signal.aborted, 'the pod runs');
  const { items } = await client.resource(nodes).list();
  t.same(items.map(({ metadata }) => metadata.name).sort(), ['node-0', 'node-1']);
  const { folder } = cluster;
  await access(folder);
  await cluster.close();
  await t.rejects(access(folder), { code: 'ENOENT' }, 'its files are removed');
});

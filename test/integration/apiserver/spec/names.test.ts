/** Specification 1, 2.1 to 2.3: names of objects, and metadata that the system maintains. */
import t from 'tap';
import { configmaps, namespaces } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  configMap,
  configMaps,
  mergePatch,
  openStore,
  startSpec,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

t.test('names', withEtcd, async (t) => {
  const { client } = await startSpec(t, {
    dependencies: {
      random: sequence(),
      virtualResources: [
        {
          group: 'authentication',
          resource: 'tokenreviews',
          subresource: '',
          handle: async ({ object }) => ({ ...object, status: { error: 'invalid bearer token' } }) as typeof object,
        },
      ],
    },
  });
  const path = configMaps('names');

  await covers(t, ['2.2.1', '2.2.2', '2.3 name'], 'one name, one object', async (t) => {
    const unnamed = await client.post(path, { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} });
    t.match(unnamed.json, {
      code: 422,
      reason: 'Invalid',
      message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
      details: { kind: 'ConfigMap', causes: [{ reason: 'FieldValueRequired', field: 'metadata.name' }] },
    });
    const first = await client.make(path, configMap('once'));
    const second = await client.post(path, configMap('once', { other: 'yes' }));
    t.equal(second.status, 409);
    t.same(second.json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'configmaps "once" already exists',
      reason: 'AlreadyExists',
      details: { name: 'once', kind: 'configmaps' },
      code: 409,
    });
    t.same((await client.get(`${path}/once`)).json, first, 'and the first is unchanged');
    t.equal((await client.post(configMaps('names2'), configMap('once'))).status, 201, 'another namespace');
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'once' } };
    t.equal((await client.post('/api/v1/namespaces/names/secrets', secret)).status, 201, 'another kind');
    await client.delete(`${path}/once`);
    const again = await client.make(path, configMap('once'));
    t.not(again.metadata.uid, first.metadata.uid, 'free again, for another object');
  });

  await covers(t, ['2.1'], 'operations are not stored', async (t) => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'x' } };
    const api = '/apis/authentication.k8s.io/v1/tokenreviews';
    for (let i = 0; i < 2; i += 1) {
      const { status, json } = await client.post(api, review);
      t.equal(status, 201, 'repeatedly, without a name');
      t.match(json, { kind: 'TokenReview', status: { error: 'invalid bearer token' } });
    }
    t.equal((await client.get(`${api}/x`)).status, 404);
    t.equal((await client.get(api)).status, 405);
  });

  await covers(t, ['2.2.3'], 'cluster-scoped names', async (t) => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } };
    const created = await client.make('/api/v1/nodes', node);
    t.equal(created.metadata.namespace, undefined);
    t.match((await client.post('/api/v1/nodes', node)).json, { code: 409, message: 'nodes "n1" already exists' });
    t.equal((await client.get('/api/v1/namespaces/x/nodes/n1')).status, 404, 'not in a namespace');
  });

  await covers(t, ['2.3 generateName'], 'a used generated name is replaced by another', async (t) => {
    // The server's random numbers repeat after two names: see `sequence`.
    const names = [];
    for (let i = 0; i < 3; i += 1) {
      const { status, json } = await client.post(path, { kind: 'ConfigMap', metadata: { generateName: 'web-' } });
      t.equal(status, 201);
      t.match(json.metadata, { generateName: 'web-', name: /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/ });
      names.push(json.metadata.name);
    }
    t.equal(new Set(names).size, 3);
    const long = await client.post(path, { kind: 'ConfigMap', metadata: { generateName: `${'l'.repeat(80)}-` } });
    t.equal(long.json.metadata.name.length, 63, 'long ones are cut');
    const both = await client.post(path, { kind: 'ConfigMap', metadata: { generateName: 'web-', name: 'given' } });
    t.equal(both.json.metadata.name, 'given', 'a name given is kept');
    const { client: stubborn } = await startSpec(t, { dependencies: { random: () => 0 } });
    t.equal((await stubborn.post(path, { kind: 'ConfigMap', metadata: { generateName: 'x-' } })).status, 201);
    const refused = await stubborn.post(path, { kind: 'ConfigMap', metadata: { generateName: 'x-' } });
    t.match(refused.json, {
      code: 409,
      reason: 'AlreadyExists',
      message:
        /^configmaps "x-bbbbb" already exists, the server was not able to generate a unique name for the object$/,
      details: { name: 'x-bbbbb', kind: 'configmaps', retryAfterSeconds: 1 },
    });
    t.equal(refused.headers['retry-after'], '1');
  });

  await covers(
    t,
    ['2.3 namespace', '2.3 uid', '2.3 creationTimestamp', '2.3 resourceVersion', '2.3 labels'],
    'system fields are unchanged',
    async (t) => {
      const forged = { uid: 'mine', creationTimestamp: '2001-01-01T00:00:00Z', generation: 7, selfLink: '/x' };
      const labels = { tier: 'front' };
      const annotations = { note: 'text' };
      const before = Math.floor(Date.now() / 1000) * 1000;
      const { metadata } = await client.make(path, configMap('meta', {}, { ...forged, labels, annotations }));
      t.match(metadata, {
        namespace: 'names',
        uid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
        labels,
        annotations,
      });
      t.ok(Date.parse(metadata.creationTimestamp) >= before);
      t.equal(metadata.selfLink, undefined);
      const list = (await client.get(path)).json.items;
      t.match(
        list.find((item: { metadata: { name: string } }) => item.metadata.name === 'meta'),
        { metadata: { labels, annotations } },
      );
      const next = (await client.patch(`${path}/meta`, mergePatch, { metadata: { labels: { tier: 'back' } } })).json;
      t.not(next.metadata.resourceVersion, metadata.resourceVersion);
      for (const field of ['uid', 'creationTimestamp', 'namespace'] as const) {
        t.equal(next.metadata[field], metadata[field], field);
      }
      const same = (await client.patch(`${path}/meta`, mergePatch, { metadata: { labels: { tier: 'back' } } })).json;
      t.equal(same.metadata.resourceVersion, next.metadata.resourceVersion, 'an unchanged object keeps its version');
      const turned = Object.fromEntries(Object.entries({ ...next, metadata: reversed(next.metadata) }).reverse());
      const put = (await client.put(`${path}/meta`, turned)).json;
      t.same(put, next, 'as does a reordered object');
      const versioned = await client.post(path, configMap('v', {}, { resourceVersion: '5' }));
      t.match(versioned.json, { code: 500, message: 'resourceVersion should not be set on objects to be created' });
      const elsewhere = await client.post(path, configMap('e', {}, { namespace: 'other' }));
      t.match(elsewhere.json, {
        code: 400,
        reason: 'BadRequest',
        message: 'the namespace of the provided object does not match the namespace sent on the request',
      });
    },
  );
});

t.test('a namespace and its contents', withEtcd, async (t) => {
  const { etcd } = await startSpec(t);
  await covers(t, ['2.2.4'], 'objects are removed with their namespace', async (t) => {
    const store = openStore(etcd);
    const cluster = await startCluster({ dialect: 'kubernetes', nodes: 0, store });
    t.teardown(async () => {
      await cluster.close();
      await store.close();
    });
    const { client } = cluster;
    await client.resource(namespaces).create({ metadata: { name: 'leaving' }, spec: {} });
    for (const name of ['a', 'b']) {
      await client.resource(configmaps).create({ metadata: { name, namespace: 'leaving' } });
    }
    await client.resource(configmaps).create({ metadata: { name: 'a', namespace: 'default' } });
    await client.resource(namespaces).delete('leaving');
    const gone = () =>
      client
        .resource(namespaces)
        .get('leaving')
        .then(
          () => false,
          (error: unknown) => isNotFound(error),
        );
    while (!(await gone())) await realClock.sleep(20, new AbortController().signal);
    const { items } = await client.resource(configmaps).list();
    const left = items.filter(({ metadata }) => metadata?.name === 'a' || metadata?.name === 'b');
    t.same(
      left.map(({ metadata }) => metadata?.namespace),
      ['default'],
    );
  });
});

const reversed = (object: object) => Object.fromEntries(Object.entries(object).reverse());

/** Random numbers that make the same name twice before another one. */
function sequence(): () => number {
  let calls = 0;
  return () => {
    calls += 1;
    return ((Math.floor((calls - 1) / 5) % 7) * (calls % 3)) / 30;
  };
}

/** `--etcd-servers-overrides`: resources in an etcd of their own. */
import { existsSync } from 'node:fs';
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Store } from '#storage/store.js';
import { startEtcd, type TestEtcd } from '#test/etcd.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { type Answer, call } from '#test/integration/apiserver/server.js';
import { until } from '#test/integration/controllers/cluster.js';

t.setTimeout(120_000);

const skip = existsSync('/usr/bin/etcd') ? false : 'needs etcd';

const connect = (etcd: TestEtcd) => new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });

async function keysOf(store: Store, start: string): Promise<string[]> {
  const { kvs } = await store.range({ start, end: prefixEnd(start), keysOnly: true });
  return kvs.map(({ key }) => key);
}

interface Servers {
  readonly main: EtcdStore;
  readonly other: EtcdStore;
  readonly otherEtcd: TestEtcd;
  readonly start: (...more: string[]) => Promise<CompleteApiServer>;
}

async function twoEtcds(t: Test, dialect: Dialect): Promise<Servers> {
  const [mainEtcd, otherEtcd] = await Promise.all([startEtcd(), startEtcd()]);
  t.teardown(() => Promise.all([mainEtcd.stop(), otherEtcd.stop()]));
  const [main, other] = [connect(mainEtcd), connect(otherEtcd)];
  t.teardown(() => Promise.all([main.close(), other.close()]));
  const overrides = ['/configmaps', '/services', 'apps/*', 'example.com/turns'].map(
    (resource) => `${resource}#${otherEtcd.endpoint}`,
  );
  const credentials = await clusterCredentials(t, dialect, `admin,admin,1,${dialect.groups.masters}`);
  const argv = [...credentials.argv, `--etcd-servers-overrides=${overrides.join(',')}`];
  const start = (...more: string[]) =>
    startCompleteServer(t, { dialect, argv: [...argv, ...more], store: connect(mainEtcd) });
  return { main, other, otherEtcd, start };
}

function send({ server }: CompleteApiServer, method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { authorization: 'Bearer admin' };
  return call(server, method, path, { headers, ...(body === undefined ? {} : { body }) });
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const turns = '/apis/example.com/v1/namespaces/default/turns';
const configMap = (name: string) => ({ metadata: { name } });
const turn = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Turn', metadata: { name } });

const definition = {
  metadata: { name: 'turns.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'turns', singular: 'turn', kind: 'Turn', listKind: 'TurnList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

const quota = (hard: Record<string, string>) => ({
  metadata: { name: 'few' },
  spec: { hard },
  status: { hard, used: Object.fromEntries(Object.keys(hard).map((name) => [name, '0'])) },
});

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`resources are stored in their configured etcd, ${dialect.product}`, { skip }, async (t) => {
    const { main, other, otherEtcd, start } = await twoEtcds(t, dialect);
    const server = await start();
    const ask = (method: string, path: string, body?: unknown) => send(server, method, path, body);
    const definitions = `/apis/apiextensions.${dialect.apiDomain}/v1/customresourcedefinitions`;
    t.equal((await ask('POST', definitions, definition)).status, 201);
    await until(
      'the definition is served',
      () => ask('GET', turns),
      ({ status }) => status === 200,
    );

    await t.test('keys', async (t) => {
      t.equal((await ask('POST', configMaps, configMap('a'))).status, 201);
      t.equal((await ask('POST', turns, turn('a'))).status, 201);
      t.same(await keysOf(main, '/registry/configmaps/default/'), []);
      t.same(await keysOf(other, '/registry/configmaps/default/'), ['/registry/configmaps/default/a']);
      t.same(await keysOf(main, '/registry/example.com/'), []);
      t.same(await keysOf(other, '/registry/example.com/'), ['/registry/example.com/turns/default/a']);
      t.same(await keysOf(other, '/registry/namespaces/'), [], 'other keys are in the main store');
      t.not((await keysOf(main, '/registry/namespaces/')).length, 0);
      t.not((await keysOf(other, '/registry/ranges/')).length, 0, 'ranges are in the store of Services');
      t.same(await keysOf(main, '/registry/ranges/'), []);
    });

    await t.test('lists, watches and other servers', async (t) => {
      const list = (await ask('GET', configMaps)).json;
      const { modRevision } = (
        await other.range({ start: '/registry/configmaps/default/a', end: '/registry/configmaps/default/a\0' })
      ).kvs[0] ?? { modRevision: 0n };
      t.equal(list.items[0].metadata.resourceVersion, String(modRevision));
      const since = list.metadata.resourceVersion;
      const watching = ask('GET', `${configMaps}?watch=1&resourceVersion=${since}&timeoutSeconds=1`);
      await ask('POST', configMaps, configMap('b'));
      t.match((await watching).text, /"type":"ADDED".*"name":"b"/);
      const second = await start();
      const names = async (path: string) =>
        (await send(second, 'GET', path)).json.items.map(
          ({ metadata }: { metadata: { name: string } }) => metadata.name,
        );
      t.match(await names(configMaps), ['a', 'b']);
      t.same(await names(turns), ['a']);
      const resumed = await send(second, 'GET', `${configMaps}?watch=1&resourceVersion=${since}&timeoutSeconds=1`);
      t.match(resumed.text, /"type":"ADDED".*"name":"b"/, 'watches go on over a restart');
    });

    await t.test('quotas in another store apply', async (t) => {
      const namespace = '/api/v1/namespaces/team';
      await ask('POST', '/api/v1/namespaces', { metadata: { name: 'team' } });
      const limits = quota({ 'count/configmaps': '3', 'count/turns.example.com': '1' });
      t.equal((await ask('POST', `${namespace}/resourcequotas`, limits)).status, 201);
      const path = `${namespace}/resourcequotas/few`;
      const { json: created } = await ask('GET', path);
      t.equal((await ask('PUT', `${path}/status`, { ...created, status: limits.status })).status, 200);
      const maps = `${namespace}/configmaps`;
      const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => ask('POST', maps, configMap(name))));
      t.same(answers.map(({ status }) => status).sort(), [201, 201, 201, 403, 403]);
      t.match(
        answers.find(({ status }) => status === 403)?.json.message,
        /exceeded quota: few, requested: count\/configmaps=1, used: count\/configmaps=3/,
      );
      const custom = `/apis/example.com/v1/namespaces/team/turns`;
      t.equal((await ask('POST', custom, turn('a'))).status, 201);
      t.equal((await ask('POST', custom, turn('b'))).status, 403);
      t.same((await ask('GET', path)).json.status.used, { 'count/configmaps': '3', 'count/turns.example.com': '1' });
    });

    await t.test('both stores are compacted and checked', async (t) => {
      await start('--etcd-compaction-interval=300ms');
      for (const [name, store] of Object.entries({ main, other })) {
        const keys = () => keysOf(store, '/registry/compact_rev_key');
        await until(`a compaction of ${name}`, keys, ({ length }) => length === 1);
      }
      t.match((await ask('GET', '/readyz?verbose')).text, /\[\+\]etcd ok\n\[\+\]etcd-override-0 ok\n/);
      await otherEtcd.stop();
      await until(
        'its check fails',
        () => ask('GET', '/readyz/etcd-override-0'),
        ({ status }) => status === 500,
      );
      t.equal((await ask('GET', '/readyz')).status, 500);
      t.equal((await ask('GET', '/readyz/etcd')).status, 200);
      t.equal((await ask('GET', '/api/v1/namespaces')).status, 200, 'resources in the other store are still served');
    });
  });
}

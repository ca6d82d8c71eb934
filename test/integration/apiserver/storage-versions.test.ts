/** Leases and StorageVersions of two API servers over one store. */
import t, { type Test } from 'tap';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { storageversions } from '#api/apiserverinternal/v1alpha1/resources.gen.js';
import type { StorageVersion } from '#api/apiserverinternal/v1alpha1/types.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import type { Client } from '#client/client.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { until } from '#test/integration/controllers/cluster.js';

t.setTimeout(60_000);

const gates = '--feature-gates=APIServerIdentity=true,StorageVersionAPI=true';

async function starter(t: Test, dialect: Dialect): Promise<(...more: string[]) => Promise<CompleteApiServer>> {
  const { argv } = await clusterCredentials(t, dialect, '');
  const store = new MemoryStore({ clock });
  return (...more) => startCompleteServer(t, { dialect, argv: [...argv, ...more], store });
}

const versionOf = ({ client }: { readonly client: Client }, name: string): Promise<StorageVersion> =>
  client.resource<StorageVersion>(storageversions).get(name);

const idsOf = ({ status }: StorageVersion): string[] =>
  (status?.storageVersions ?? []).map(({ apiServerID = '' }) => apiServerID).sort();

function definition(stored: 'v1' | 'v2'): CustomResourceDefinition {
  const schema = { openAPIV3Schema: { type: 'object' } };
  return {
    metadata: { name: 'turns.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'turns', singular: 'turn', kind: 'Turn', listKind: 'TurnList' },
      versions: ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === stored, schema })),
    },
  };
}

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`servers and their storage versions are listed, ${dialect.product}`, async (t) => {
    const start = await starter(t, dialect);
    const first = await start(gates);
    await start(gates);
    const { system } = dialect.namespaces;
    const label = `${dialect.apiDomain}/component=${dialect.components.apiServer}`;
    const where = { namespace: system, labelSelector: label };
    const { items } = await first.client.resource<Lease>(leases).list(where);
    const ids = items.map(({ metadata }) => metadata.name ?? '').sort();
    t.equal(ids.length, 2);
    for (const { metadata, spec } of items) {
      t.match(metadata.name, new RegExp(`^${dialect.components.apiServer}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`));
      t.match(spec, { holderIdentity: metadata.name, leaseDurationSeconds: 3600, renewTime: /Z$/ });
    }

    const pods = await versionOf(first, 'core.pods');
    t.same(idsOf(pods), ids);
    t.match(pods.status, {
      commonEncodingVersion: 'v1',
      storageVersions: [{ encodingVersion: 'v1', decodableVersions: ['v1'] }],
      conditions: [{ type: 'AllEncodingVersionsEqual', status: 'True', reason: 'CommonEncodingVersionSet' }],
    });
    const events = await versionOf(first, `${dialect.groupName('events')}.events`);
    const group = dialect.groupName('events');
    t.match(events.status?.storageVersions?.[0], {
      encodingVersion: 'v1',
      decodableVersions: [`${group}/v1`, `${group}/v1beta1`, 'v1'],
    });
    t.match((await versionOf(first, 'apps.deployments')).status, { commonEncodingVersion: 'apps/v1' });
    const { items: all } = await first.client.resource<StorageVersion>(storageversions).list();
    const names = all.map(({ metadata }) => metadata.name);
    t.notOk(
      names.some((name = '') => /review|metrics|componentstatuses/.test(name)),
      'unstored resources have none',
    );

    const definitions = first.client.resource<CustomResourceDefinition>(customresourcedefinitions);
    await definitions.create(definition('v1'));
    const turns = '/apis/example.com/v1/turns';
    const make = (name: string) =>
      first.client.request('POST', turns, { metadata: { name }, kind: 'Turn', apiVersion: 'example.com/v1' });
    await until(
      'the definition is served',
      () => make('a').catch(() => undefined),
      (object) => object !== undefined,
    );
    const custom = () => versionOf(first, 'example.com.turns');
    t.ok(idsOf(await custom()).length > 0, 'its version is on record before its objects are written');
    const both = await until('both servers', custom, (version) => idsOf(version).length === 2);
    t.match(both.status, {
      commonEncodingVersion: 'example.com/v1',
      storageVersions: [{ decodableVersions: ['example.com/v1', 'example.com/v2'] }],
    });
    await definitions.update({ ...(await definitions.get('turns.example.com')), spec: definition('v2').spec });
    const changed = await until(
      'another stored version',
      custom,
      ({ status }) => status?.commonEncodingVersion === 'example.com/v2',
    );
    t.equal(changed.status?.conditions?.[0]?.status, 'True');
    await make('b');
    await definitions.delete('turns.example.com');
    await until(
      'its end',
      () => custom().catch(() => undefined),
      (version) => version === undefined,
    );
  });
}

t.test('the lease of a stopped server is removed by other servers', async (t) => {
  const dialect = kubernetesDialect;
  const start = await starter(t, dialect);
  const { client } = await start(
    gates,
    '--identity-lease-duration-seconds=1',
    '--identity-lease-renew-interval-seconds=1',
  );
  const { system } = dialect.namespaces;
  const resource = client.resource<Lease>(leases);
  const labels = { [`${dialect.apiDomain}/component`]: dialect.components.apiServer };
  const spec = { holderIdentity: 'gone', leaseDurationSeconds: 1, renewTime: '2022-05-03T00:00:00.000000Z' };
  await resource.create({ metadata: { name: 'gone', namespace: system, labels }, spec }, { namespace: system });
  await resource.create({ metadata: { name: 'other', namespace: system }, spec }, { namespace: system });
  const names = async () => (await resource.list({ namespace: system })).items.map(({ metadata }) => metadata.name);
  const left = await until('the lease to be removed', names, (leases) => !leases.includes('gone'));
  t.equal(left.length, 2, 'its own, and one of another server');
});

t.test('without the gates there are neither leases nor storage versions', async (t) => {
  const start = await starter(t, kubernetesDialect);
  const { client } = await start();
  t.same((await client.resource<Lease>(leases).list({ namespace: 'kube-system' })).items, []);
  await t.rejects(client.resource<StorageVersion>(storageversions).list(), /could not find the requested resource/);
});

t.test('writes do not wait for disabled StorageVersions', async (t) => {
  const start = await starter(t, kubernetesDialect);
  const { client } = await start(gates, '--runtime-config=api/alpha=false');
  t.equal((await client.resource<Lease>(leases).list({ namespace: 'kube-system' })).items.length, 1);
});

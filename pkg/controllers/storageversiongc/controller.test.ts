import t from 'tap';
import { storageversions } from '#api/apiserverinternal/v1alpha1/resources.gen.js';
import type { ServerStorageVersion, StorageVersion } from '#api/apiserverinternal/v1alpha1/types.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { StorageVersionGC, withoutDeletedServers } from '#controllers/storageversiongc/controller.js';

const server = (apiServerID: string, encodingVersion: string): ServerStorageVersion => ({
  apiServerID,
  encodingVersion,
  decodableVersions: ['v1', 'v2'],
});
const versions = (...storageVersions: ServerStorageVersion[]): StorageVersion => ({
  metadata: { name: 'apps.deployments', generation: 3 },
  spec: {},
  status: { storageVersions, conditions: [] },
});

t.test('the common version is that of all remaining servers', (t) => {
  const now = Date.parse('2022-05-03T00:00:00Z');
  const without = (gone: string, ...servers: ServerStorageVersion[]) =>
    withoutDeletedServers(versions(...servers), (id) => id !== gone, now);
  t.equal(without('x', server('a', 'v1')), undefined);
  t.equal(without('a', server('a', 'v1')), 'delete');
  t.match(without('b', server('a', 'v2'), server('b', 'v1')), {
    status: {
      storageVersions: [{ apiServerID: 'a' }],
      commonEncodingVersion: 'v2',
      conditions: [
        {
          type: 'AllEncodingVersionsEqual',
          status: 'True',
          observedGeneration: 3,
          lastTransitionTime: '2022-05-03T00:00:00Z',
          reason: 'CommonEncodingVersionSet',
          message: 'Common encoding version set',
        },
      ],
    },
  });
  const split = without('c', server('a', 'v1'), server('b', 'v2'), server('c', 'v2'));
  t.match(split, { status: { conditions: [{ status: 'False', reason: 'CommonEncodingVersionUnset' }] } });
  t.equal(typeof split === 'object' && split.status?.commonEncodingVersion, undefined);
  t.end();
});

t.test('servers are removed with their leases', async (t) => {
  const harness = new Harness(t, [storageversions, leases]);
  const { api, dialect } = harness;
  const namespace = dialect.namespaces.system;
  const addLease = (name: string, component: string = dialect.components.apiServer) =>
    api.seed<Lease>(leases, {
      metadata: { name, namespace, labels: { [`${dialect.apiDomain}/component`]: component } },
      spec: {},
    });
  addLease('a');
  addLease('b');
  addLease('c', 'other-component');
  api.seed<StorageVersion>(storageversions, versions(server('a', 'v1'), server('b', 'v2'), server('c', 'v1')));
  const left = () =>
    api.get(storageversions, 'apps.deployments')?.status?.storageVersions?.map(({ apiServerID }) => apiServerID);
  await harness.start(new StorageVersionGC(harness.context));
  t.same(left(), ['a', 'b'], 'a lease of another component does not count');
  api.remove(leases, `${namespace}/b`);
  await harness.settled();
  t.same(left(), ['a']);
  t.equal(api.get(storageversions, 'apps.deployments')?.status?.commonEncodingVersion, 'v1');
  api.remove(leases, `${namespace}/a`);
  await harness.settled();
  t.equal(left(), undefined);
});

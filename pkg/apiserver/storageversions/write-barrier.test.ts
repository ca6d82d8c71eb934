import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { StorageVersionBarrier } from '#apiserver/storageversions/write-barrier.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

/** The recorded versions of server `me`, by name. */
function barrierOver(record: Map<string, string>): StorageVersionBarrier {
  const versions = {
    ready: () => true,
    cached: (name: string) => {
      const encodingVersion = record.get(name);
      if (encodingVersion === undefined) return undefined;
      return { object: () => ({ status: { storageVersions: [{ apiServerID: 'me', encodingVersion }] } }) };
    },
  } as unknown as ResourceStorage;
  return new StorageVersionBarrier({
    dialect,
    clock,
    id: 'me',
    versions,
    isStored: ({ group }) => group !== 'unstored',
  });
}

function resourceOf(group: string, resource: string, apiVersion: string, custom = false): ServedResource {
  return {
    group,
    declaration: { resource },
    qualified: { group, resource },
    stored: { apiVersion },
    ...(custom ? { kindInfo: {} } : {}),
  } as unknown as ServedResource;
}

const request = (verb: string, name = 'admin') => ({ info: { verb }, user: { name } }) as unknown as RequestContext;
const pods = resourceOf('', 'pods', 'v1');

t.test('writes of built-in resources are refused until their version is recorded', async (t) => {
  const record = new Map<string, string>();
  const barrier = barrierOver(record);
  const message = (failure: string) =>
    `wait for storage version registration to complete for resource: pods, last seen error: ${failure}`;
  for (const verb of ['create', 'update', 'patch']) {
    t.throws(() => barrier.admit(request(verb), pods), { message: message('<nil>') });
  }
  barrier.failed('core.pods', 'it hurts');
  t.throws(() => barrier.admit(request('create'), pods), { message: message('it hurts') });
  const deployments = resourceOf('apps', 'deployments', 'apps/v1');
  t.throws(
    () => barrier.admit(request('create'), deployments),
    /for resource: deployments.apps, last seen error: <nil>/,
  );
  for (const verb of ['get', 'list', 'watch', 'delete', 'deletecollection']) {
    t.equal(barrier.admit(request(verb), pods), undefined, verb);
  }
  record.set('core.pods', 'v1');
  t.equal(barrier.admit(request('create'), pods), undefined);
  record.clear();
  t.equal(barrier.admit(request('create'), pods), undefined, 'once is enough');
});

t.test('objects needed for recording may be written', async (t) => {
  const barrier = barrierOver(new Map());
  const { apiServer } = dialect.users;
  t.equal(
    barrier.admit(request('create'), resourceOf('coordination.k8s.io', 'leases', 'coordination.k8s.io/v1')),
    undefined,
  );
  const versions = resourceOf('internal.apiserver.k8s.io', 'storageversions', 'internal.apiserver.k8s.io/v1alpha1');
  t.equal(barrier.admit(request('update'), versions), undefined);
  const namespaces = resourceOf('', 'namespaces', 'v1');
  t.equal(barrier.admit(request('create', apiServer), namespaces), undefined);
  t.throws(() => barrier.admit(request('update', apiServer), namespaces));
  t.throws(() => barrier.admit(request('create'), namespaces));
  t.equal(barrier.admit(request('create'), resourceOf('unstored', 'reviews', 'unstored/v1')), undefined);
});

t.test('writes of custom resources wait', async (t) => {
  const record = new Map([['example.com.turns', 'example.com/v1']]);
  const barrier = barrierOver(record);
  t.equal(barrier.admit(request('create'), resourceOf('example.com', 'turns', 'example.com/v1', true)), undefined);
  const changed = resourceOf('example.com', 'turns', 'example.com/v2', true);
  const waiting = barrier.admit(request('create'), changed);
  record.set('example.com.turns', 'example.com/v2');
  await waiting;
  t.equal(barrier.admit(request('create'), changed), undefined);
  const back = resourceOf('example.com', 'turns', 'example.com/v1', true);
  await t.rejects(
    barrier.admit(request('create'), back) ?? Promise.resolve(),
    /^wait for storage version registration to complete for resource: turns.example.com,/,
  );
});

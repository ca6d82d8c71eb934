import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { persistentvolumeclaims, pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod, Volume } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { internalError } from '#apimachinery/errors/status.js';
import { EphemeralVolumeController, missingClaims } from '#controllers/ephemeralvolume/controller.js';
import { controllerMetrics } from '#controllers/framework/metrics.js';
import { Harness } from '#controllers/framework/testing/harness.js';

const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'gold' };
const template = { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec };
const scratch: Volume = { name: 'scratch', ephemeral: { volumeClaimTemplate: template } };
const pod = (volumes: Volume[], metadata: Pod['metadata'] = {}): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: 'pod', ...metadata },
  spec: { containers: [], volumes },
});
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'pod', controller: true, blockOwnerDeletion: true };
const claim = (metadata: PersistentVolumeClaim['metadata'] = {}): PersistentVolumeClaim => ({
  metadata: { name: 'p-scratch', namespace: 'default', ...metadata },
  spec,
});

t.test('missing claims are created, and conflicting claims reported', (t) => {
  const desired = claim({ ownerReferences: [owner], ...template.metadata });
  const conflict = 'PVC default/p-scratch was not created for pod default/p (pod is not owner)';
  const others = { ...owner, uid: 'other' };
  const rows: [name: string, pod: Pod, there: PersistentVolumeClaim | undefined, want: object[]][] = [
    ['no ephemeral volume', pod([{ name: 'v', emptyDir: {} }]), undefined, []],
    ['no claim yet', pod([scratch]), undefined, [{ volume: 'scratch', name: 'p-scratch', claim: desired }]],
    ['the claim of the pod', pod([scratch]), claim({ ownerReferences: [owner] }), []],
    ['a claim without an owner', pod([scratch]), claim(), [{ volume: 'scratch', name: 'p-scratch', conflict }]],
    [
      "another pod's",
      pod([scratch]),
      claim({ ownerReferences: [others] }),
      [{ volume: 'scratch', name: 'p-scratch', conflict }],
    ],
    ['a pod in deletion', pod([scratch], { deletionTimestamp: '2022-05-03T00:00:00Z' }), undefined, []],
  ];
  for (const [name, given, there, want] of rows)
    t.same(
      missingClaims(given, () => there, dialect),
      want,
      name,
    );
  t.end();
});

function setUp(t: Test) {
  const harness = new Harness(t, [persistentvolumeclaims, pods]);
  const { api } = harness;
  const registry = new Registry();
  const start = () =>
    harness.start(
      new EphemeralVolumeController({ ...harness.context, metrics: controllerMetrics(registry) }, { concurrency: 5 }),
    );
  const count = async (name: string) =>
    (await registry.getSingleMetric(`ephemeral_volume_controller_${name}_total`)?.get())?.values[0]?.value;
  return { harness, api, start, count, created: () => api.get(persistentvolumeclaims, 'default/p-scratch') };
}

t.test('a claim is created, and recreated after its deletion', async (t) => {
  const { harness, api, start, count, created } = setUp(t);
  await start();
  api.seed<Pod>(pods, pod([scratch]));
  await harness.settled();
  t.match(created(), { spec, metadata: { ownerReferences: [owner], labels: { a: 'b' } } });
  api.remove(persistentvolumeclaims, 'default/p-scratch');
  await harness.advance(1000);
  t.ok(created());
  t.equal(await count('create'), 2);
  t.same(harness.events, []);
});

t.test('a conflicting claim is recorded and stays', async (t) => {
  const { harness, api, start, created } = setUp(t);
  api.seed<PersistentVolumeClaim>(persistentvolumeclaims, claim());
  api.seed<Pod>(pods, pod([scratch]));
  await start();
  t.equal(
    harness.events[0],
    'Warning FailedBinding p: ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)',
  );
  t.same(api.takeWrites(), []);
  api.remove(persistentvolumeclaims, 'default/p-scratch');
  await harness.advance(1000);
  t.match(created()?.metadata.ownerReferences, [owner]);
});

t.test('a rejected claim is recorded and retried', async (t) => {
  const { harness, api, start, count, created } = setUp(t);
  const heal = harness.fail(({ verb }) => verb === 'create', internalError(new Error('no')));
  api.seed<Pod>(pods, pod([scratch]));
  await start();
  t.match(harness.events[0], /^Warning FailedBinding p: ephemeral volume scratch: create PVC p-scratch: /);
  t.ok(((await count('create_failures')) ?? 0) > 0);
  heal();
  await harness.advance(60_000);
  t.ok(created());
});

/** Pods beyond a node's volume limit: the explanation names the cause, and its remedy lets the pod be bound. */
import t from 'tap';
import { persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod, Volume } from '#api/core/v1/types.gen.js';
import { csinodes } from '#api/storage/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { explain } from '#scheduler/explain/explain.js';
import { listedSnapshot } from '#scheduler/explain/listed-snapshot.js';
import { ClusterCopy, Pace } from '#scheduler/explain/snapshot.js';
import { profileOf } from '#scheduler/plugins/profiles.js';
import { boundClaim, claimVolumes, volume } from '#scheduler/testing/storage.js';
import { cluster } from '#test/integration/scheduler/cluster.js';

const where = { namespace: 'default' };
const message = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? '';
const single = new FeatureGates({ ReadWriteOncePod: true });
const profiles = [
  profileOf({ schedulerName: dialect.components.defaultScheduler, sets: {}, args: {} }, dialect, {
    gates: single,
    env: {},
  }),
];
const disk: Volume[] = [{ name: 'd', awsElasticBlockStore: { volumeID: 'v' } }];

for (const { cause, facts, first, second } of [
  {
    cause: /node\(s\) exceed max volume count/,
    facts: 'd has 1 of at most 1 volumes there, the pod needs 1 more',
    first: claimVolumes('a'),
    second: claimVolumes('b'),
  },
  { cause: /node\(s\) had no available disk/, facts: 'default/first has the disk', first: disk, second: disk },
  {
    cause: /node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode/,
    facts: 'default/first on node n has the claim single',
    first: claimVolumes('single'),
    second: claimVolumes('single'),
  },
]) {
  t.test(facts, async (t) => {
    const c = await cluster(t, { profiles }, single);
    const { client } = c;
    for (const name of ['a', 'b', 'single']) {
      await client.resource(persistentvolumes).create(volume(name, { csi: { driver: 'd', volumeHandle: name } }));
      await client
        .resource(persistentvolumeclaims)
        .create(boundClaim(name, name, { accessModes: [name === 'single' ? 'ReadWriteOncePod' : 'ReadWriteOnce'] }));
    }
    const drivers = [{ name: 'd', nodeID: 'n', allocatable: { count: 1 } }];
    await client.resource(csinodes).create({ metadata: { name: 'n' }, spec: { drivers } });
    await c.node('n');
    await c.pod('first', { volumes: first });
    await c.when('first', ({ spec }) => spec.nodeName === 'n');
    await c.pod('second', { volumes: second });
    const waiting = await c.when('second', (pod) => cause.test(message(pod)));

    const snapshot = await listedSnapshot(client, AbortSignal.timeout(60_000));
    const copy = await ClusterCopy.of(snapshot, dialect, new Pace(realClock));
    const explanation = await explain(waiting, { copy, dialect, profiles, scores: 0 });
    t.equal(explanation.message, message(waiting));
    t.equal(explanation.refused[0]?.facts, facts);
    const remedy = explanation.remedies.find(({ text }) => text.startsWith('delete pod default/first'));
    t.match(remedy, { checked: true, node: 'n', changes: [{ action: 'delete', kind: 'Pod', name: 'first' }] });
    await client.resource(pods).delete('first', { ...where, gracePeriodSeconds: 0 });
    await c.when('second', ({ spec }) => spec.nodeName === 'n');
  });
}

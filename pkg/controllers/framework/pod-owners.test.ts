import t, { type Test } from 'tap';
import { replicasets } from '#api/apps/v1/resources.gen.js';
import type { ReplicaSet } from '#api/apps/v1/types.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { keyOf } from '#apimachinery/object-key.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import { done } from '#client/workqueue/outcome.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerReference } from '#controllers/framework/owners.js';
import { PodOwners } from '#controllers/framework/pod-owners.js';
import { Harness } from '#controllers/framework/testing/harness.js';

const app = { app: 'a' };

function set(name: string): ReplicaSet {
  const template = { metadata: { labels: app }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  return { metadata: { name, namespace: 'n' }, spec: { selector: { matchLabels: app }, template } };
}

const pod = (name: string, labels = {}): Pod => ({
  metadata: { name, namespace: 'n', labels },
  spec: { containers: [] },
});

/** The reconciled keys of owners that ignore the pod `other`. */
async function watched(t: Test) {
  const harness = new Harness(t, [replicasets, pods]);
  const { context, api, dialect } = harness;
  const worked: string[] = [];
  const loop = new ReconcileLoop(context, {
    name: 'x',
    concurrency: 1,
    reconcile: async (key) => {
      worked.push(key);
      return done;
    },
  });
  const sets = sharedInformer(context.informers, replicasets);
  const owners = new PodOwners<ReplicaSet>({
    context,
    type: replicasets,
    owners: sets,
    pods: sharedInformer(context.informers, pods),
    loop,
    selector: ({ spec }) => selectorFromObject(spec.selector),
    ignores: (_set, { metadata }) => metadata.name === 'other',
  });
  const make = (pod: Pod) => context.client.resource(pods).create(pod);
  for (const name of ['one', 'two']) await context.client.resource(replicasets).create(set(name));
  const unwatch = owners.watch();
  await harness.start({ name: 'x', run: (signal) => loop.run(signal) });
  const after = async (change: () => unknown) => {
    worked.length = 0;
    await change();
    await harness.settled();
    return [...new Set(worked)].sort();
  };
  const ownedBy = (name: string) => {
    const owner = sets.get(`n/${name}`);
    if (owner === undefined) throw new TypeError('no such set');
    return [controllerReference(dialect, replicasets, owner)];
  };
  return { api, make, owners, sets, after, ownedBy, unwatch };
}

t.test('a change of a pod enqueues its current, former and possible owners', async (t) => {
  const { api, make, after, ownedBy, unwatch } = await watched(t);
  const rename = (uid: string) => [{ ...ownedBy('one')[0], uid } as never];
  const change = (owners: NonNullable<Pod['metadata']['ownerReferences']>) => () =>
    api.change<Pod>(pods, 'n/p', ({ metadata }) => {
      metadata.ownerReferences = copyJson(owners);
    });
  t.same(await after(() => make(pod('p', app))), ['n/one', 'n/two'], 'an orphan: all owners that select it');
  t.same(await after(() => make(pod('q'))), [], 'an orphan that no owner selects');
  t.same(await after(() => make(pod('other', app))), [], 'an ignored orphan');
  t.same(await after(change(ownedBy('one'))), ['n/one'], 'adopted');
  t.same(await after(change(ownedBy('two'))), ['n/one', 'n/two'], 'a new owner: both');
  t.same(await after(change([])), ['n/one', 'n/two'], 'a released pod');
  t.same(await after(change(rename('gone'))), [], 'an owner with another UID');
  await after(change(ownedBy('two')));
  t.same(await after(() => api.remove(pods, 'n/p')), ['n/two'], 'deleted');
  unwatch();
  t.same(await after(() => make(pod('r', app))), [], 'no owner after the end');
});

t.test('an owner claims selected pods that it does not ignore', async (t) => {
  const { api, make, owners, sets, after } = await watched(t);
  await after(() => Promise.all([make(pod('p', app)), make(pod('other', app)), make(pod('q'))]));
  const one = sets.get('n/one');
  if (one === undefined) throw new TypeError('no such set');
  const claimed = await owners.claim(one, { finalizers: ['test.io/kept'] });
  t.same(claimed.map(keyOf), ['n/p']);
  t.match(api.get<Pod>(pods, 'n/p')?.metadata, {
    ownerReferences: [{ kind: 'ReplicaSet', name: 'one', controller: true }],
    finalizers: ['test.io/kept'],
  });
});

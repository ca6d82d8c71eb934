import t from 'tap';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { configmaps, namespaces } from '#api/core/v1/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import type { DeleteOptions } from '#apiserver/registry/delete-options.js';
import { type DeletionPlan, planDeletion, removesOnUpdate } from '#apiserver/registry/deletion-plan.js';
import { EmptyStorage } from '#apiserver/resources/empty-storage.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

const now = Date.parse('2024-05-01T12:00:00Z');

function served(declaration: ServedResource['declaration'], strategy: Strategy = {}): ServedResource {
  const qualified = { group: '', resource: declaration.resource };
  const type = schemeFor(kubernetesDialect).resourceOf(declaration).type;
  return {
    declaration,
    group: '',
    apiVersion: 'v1',
    qualified,
    strategy,
    storage: new EmptyStorage(qualified),
    type,
    stored: { apiVersion: 'v1', kind: 'X', type, strategy: {} },
  };
}

const plain = served(configmaps);

function object(metadata: ApiObjectShape['metadata'] = {}, rest: object = {}): ApiObjectShape {
  return { metadata: { name: 'x', ...metadata }, ...rest };
}

interface Row {
  readonly name: string;
  readonly object?: ApiObjectShape;
  readonly resource?: ServedResource;
  readonly options?: Partial<DeleteOptions>;
  readonly grace?: number;
  readonly plan: object;
}

const marked = { deletionTimestamp: '2024-05-01T12:00:30Z', deletionGracePeriodSeconds: 30 };

const onlyTime = { deletionTimestamp: '2024-05-01T12:00:00Z' };

const rows: Row[] = [
  { name: 'nothing holds it', plan: { action: 'remove' } },
  { name: 'grace zero', grace: 0, plan: { action: 'remove' } },
  {
    name: 'a grace period marks it',
    grace: 30,
    object: object({ generation: 4 }),
    plan: { action: 'mark', object: { metadata: { ...marked, generation: 5 } } },
  },
  {
    name: 'a finalizer holds it',
    object: object({ finalizers: ['a/b'] }),
    plan: {
      action: 'mark',
      object: { metadata: { deletionTimestamp: '2024-05-01T12:00:00Z', deletionGracePeriodSeconds: 0 } },
    },
  },
  {
    name: 'held already',
    object: object({ finalizers: ['a/b'], deletionTimestamp: '2024-05-01T11:00:00Z', deletionGracePeriodSeconds: 0 }),
    plan: { action: 'pending' },
  },
  {
    name: 'foreground',
    options: { propagationPolicy: 'Foreground' },
    plan: { action: 'mark', object: { metadata: { finalizers: ['foregroundDeletion'] } } },
  },
  {
    name: 'orphan',
    options: { propagationPolicy: 'Orphan' },
    object: object({ finalizers: ['foregroundDeletion', 'a/b'] }),
    plan: { action: 'mark', object: { metadata: { finalizers: ['a/b', 'orphan'] } } },
  },
  {
    name: 'orphanDependents, the old form',
    options: { orphanDependents: true },
    plan: { action: 'mark', object: { metadata: { finalizers: ['orphan'] } } },
  },
  {
    name: 'background takes a finalizer back',
    options: { propagationPolicy: 'Background' },
    object: object({ finalizers: ['orphan'] }),
    plan: { action: 'remove' },
  },
  {
    name: 'a kind that orphans by default',
    resource: served(configmaps, { defaultPropagation: 'Orphan' }),
    plan: { action: 'mark', object: { metadata: { finalizers: ['orphan'] } } },
  },
  { name: 'going, same grace', grace: 30, object: object(marked), plan: { action: 'pending' } },
  {
    name: 'going, longer grace',
    grace: 60,
    options: { gracePeriodSeconds: 60 },
    object: object(marked),
    plan: { action: 'pending' },
  },
  {
    name: 'going, shorter grace',
    grace: 5,
    options: { gracePeriodSeconds: 5 },
    object: object(marked),
    plan: {
      action: 'mark',
      object: { metadata: { deletionTimestamp: '2024-05-01T12:00:05Z', deletionGracePeriodSeconds: 5 } },
    },
  },
  {
    name: 'going, now',
    grace: 0,
    options: { gracePeriodSeconds: 0 },
    object: object(marked),
    plan: { action: 'remove' },
  },
  {
    name: 'going, now, but held',
    grace: 0,
    options: { gracePeriodSeconds: 0 },
    object: object({ ...marked, finalizers: ['a/b'] }),
    plan: { action: 'mark', object: { metadata: { deletionGracePeriodSeconds: 0, finalizers: ['a/b'] } } },
  },
  {
    name: 'a namespace is held by the finalizers of its spec',
    resource: served(namespaces, strategyFor(namespaces)),
    object: object({}, { spec: { finalizers: ['kubernetes'] } }),
    plan: { action: 'mark', object: { metadata: { ...onlyTime, deletionGracePeriodSeconds: undefined } } },
  },
  {
    name: 'a definition is held by what is left of its objects, and stays in its generation',
    resource: served(customresourcedefinitions, strategyFor(customresourcedefinitions)),
    object: object({ generation: 1 }),
    plan: {
      action: 'mark',
      object: { metadata: { ...onlyTime, generation: 1, deletionGracePeriodSeconds: undefined } },
    },
  },
];

t.test('delete requests mark or remove objects', async (t) => {
  for (const row of rows) {
    const given = row.object ?? object();
    const before = structuredClone(given);
    const plan: DeletionPlan = planDeletion({
      resource: row.resource ?? plain,
      object: given,
      options: { dryRun: false, ...row.options },
      dialect: kubernetesDialect,
      now,
      graceSeconds: row.grace,
      collectsGarbage: true,
    });
    t.match(plan, row.plan, row.name);
    t.same(given, before, `${row.name}: the object itself is untouched`);
  }
});

t.test('without a garbage collector, deletions set no finalizers for it', async (t) => {
  const choice = { resource: plain, dialect: kubernetesDialect, now, graceSeconds: undefined, collectsGarbage: false };
  for (const propagationPolicy of ['Orphan', 'Foreground', 'Background'] as const) {
    const options = { dryRun: false, propagationPolicy };
    t.same(planDeletion({ ...choice, object: object(), options }), { action: 'remove' }, propagationPolicy);
    const held = object({ finalizers: ['orphan', 'a/b'] });
    const plan = planDeletion({ ...choice, object: held, options });
    t.match(
      plan,
      { action: 'mark', object: { metadata: { finalizers: ['orphan', 'a/b'] } } },
      'those of the object stay',
    );
  }
});

t.test('an update removes an object once nothing holds it', async (t) => {
  const going = object({
    deletionTimestamp: '2024-05-01T12:00:00Z',
    deletionGracePeriodSeconds: 0,
    finalizers: ['a/b'],
  });
  const freed = object({ ...going.metadata, finalizers: [] });
  t.equal(removesOnUpdate(plain, freed, going), true);
  t.equal(removesOnUpdate(plain, going, going), false, 'still held');
  t.equal(removesOnUpdate(plain, freed, object()), false, 'not deleted');
  t.equal(removesOnUpdate(plain, object(marked), object(marked)), false, 'its grace period is not over');
});

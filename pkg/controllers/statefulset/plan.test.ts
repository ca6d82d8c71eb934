import t from 'tap';
import type { ControllerRevision, StatefulSet, StatefulSetSpec } from '#api/apps/v1/types.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { revisionData } from '#controllers/history/revisions.js';
import { excessRevisions, planStatefulSet, statusToWrite } from '#controllers/statefulset/plan.js';

const now = Date.parse('2022-05-03T12:00:00Z');
const template = (image: string) => ({ spec: { containers: [{ name: 'c', image }] } });

function set(spec: Partial<StatefulSetSpec> = {}): StatefulSet {
  return {
    metadata: { name: 'web', namespace: 'n', uid: 'set' },
    spec: {
      replicas: 3,
      serviceName: 'web',
      template: template('new'),
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      ...spec,
    },
  };
}

const revision = (name: string, image: string, number: number): ControllerRevision => ({
  metadata: { name },
  data: revisionData(dialect, template(image)),
  revision: number,
});
const old = revision('web-old', 'old', 1);
const update = revision('web-new', 'new', 2);

/** `web-1 new ready`: name, revision and state. */
function pod(text: string): Pod {
  const [name = '', of = 'new', state = 'ready'] = text.split(' ');
  const running = state === 'ready' || state === 'going' || state === 'fresh';
  const lastTransitionTime = state === 'fresh' ? '2022-05-03T11:59:55Z' : '2022-05-03T10:00:00Z';
  return {
    metadata: {
      name,
      namespace: 'n',
      uid: name,
      labels: { 'controller-revision-hash': `web-${of}`, 'statefulset.orch.io/pod-name': name },
      ...(state === 'going' || state === 'ending' ? { deletionTimestamp: '2022-05-03T11:59:00Z' } : {}),
    },
    spec: { containers: [] },
    status: running
      ? { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] }
      : { phase: state === 'failed' || state === 'ending' ? 'Failed' : state === 'ended' ? 'Succeeded' : 'Pending' },
  };
}

const parallel = { podManagementPolicy: 'Parallel' };
const maxUnavailable = (value: number | string, partition = 0): Partial<StatefulSetSpec> => ({
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition, maxUnavailable: value } },
});
const all = (of: string, state = 'ready') => [0, 1, 2].map((n) => `web-${n} ${of} ${state}`);

interface Row {
  readonly name: string;
  readonly spec?: Partial<StatefulSetSpec>;
  readonly pods: readonly string[];
  readonly gate?: boolean;
  /** `create web-0 new`, `delete web-0`. */
  readonly steps: readonly string[];
}

const rows: Row[] = [
  { name: 'no pods', pods: [], steps: ['create web-0 new'] },
  { name: 'all pods exist', pods: all('new'), steps: [] },
  {
    name: 'no pods, unordered',
    spec: parallel,
    pods: [],
    steps: ['create web-0 new', 'create web-1 new', 'create web-2 new'],
  },
  { name: 'an unready pod', pods: ['web-0 new pending'], steps: [] },
  {
    name: 'an unready pod, unordered',
    spec: parallel,
    pods: ['web-0 new pending', 'web-2'],
    steps: ['create web-1 new'],
  },
  { name: 'a pod is not available yet', spec: { minReadySeconds: 10 }, pods: ['web-0 new fresh'], steps: [] },
  { name: 'a pod is available', spec: { minReadySeconds: 3 }, pods: ['web-0 new fresh'], steps: ['create web-1 new'] },
  { name: 'a pod in deletion', pods: ['web-0 new going', 'web-1'], steps: [] },
  { name: 'a gap is filled first', pods: ['web-0', 'web-2', 'web-3'], steps: ['create web-1 new'] },
  { name: 'a failed pod', pods: ['web-0 new failed', 'web-1'], steps: ['delete web-0 failed'] },
  {
    name: 'a failed pod, unordered',
    spec: parallel,
    pods: ['web-0 new failed', 'web-1'],
    steps: ['delete web-0 failed', 'create web-2 new'],
  },
  { name: 'a failed pod in deletion', pods: ['web-0 new ending', 'web-1'], steps: [] },
  { name: 'a succeeded pod', pods: ['web-0', 'web-1 new ended'], steps: ['delete web-1 succeeded'] },
  { name: 'surplus pods', pods: [...all('new'), 'web-3', 'web-4'], steps: ['delete web-4'] },
  { name: 'ten comes after nine', pods: [...all('new'), 'web-10', 'web-9'], steps: ['delete web-10'] },
  {
    name: 'surplus pods, unordered',
    spec: parallel,
    pods: [...all('new'), 'web-3', 'web-4'],
    steps: ['delete web-4', 'delete web-3'],
  },
  { name: 'surplus pods, the last in deletion', pods: [...all('new'), 'web-3', 'web-4 new going'], steps: [] },
  {
    name: 'surplus pods, one in deletion, unordered',
    spec: parallel,
    pods: [...all('new'), 'web-3', 'web-4 new going'],
    steps: ['delete web-3'],
  },
  {
    name: 'surplus pod, the only unready pod',
    pods: [...all('new'), 'web-3 new pending'],
    steps: ['delete web-3'],
  },
  {
    name: 'surplus pods, a lower pod is unready',
    pods: [...all('new'), 'web-3 new pending', 'web-4 new pending'],
    steps: [],
  },
  { name: 'surplus pod, a desired pod is unready', pods: ['web-0', 'web-1 new pending', 'web-2', 'web-3'], steps: [] },
  { name: 'outdated pods', pods: all('old'), steps: ['delete web-2'] },
  { name: 'one pod is updated', pods: ['web-0 old', 'web-1 old', 'web-2'], steps: ['delete web-1'] },
  { name: 'the updated pod is unready', pods: ['web-0 old', 'web-1 old', 'web-2 new pending'], steps: [] },
  {
    name: 'the updated pod is unready, unordered',
    spec: parallel,
    pods: ['web-0 old', 'web-1 old', 'web-2 new pending'],
    steps: [],
  },
  {
    name: 'an outdated pod is unready, unordered',
    spec: parallel,
    pods: ['web-0 old', 'web-1 old', 'web-2 old pending'],
    steps: ['delete web-2'],
  },
  { name: 'OnDelete', spec: { updateStrategy: { type: 'OnDelete' } }, pods: all('old'), steps: [] },
  {
    name: 'OnDelete creates new pods at the new revision',
    spec: { updateStrategy: { type: 'OnDelete' } },
    pods: ['web-0 old'],
    steps: ['create web-1 new'],
  },
  { name: 'below the partition', spec: maxUnavailable(1, 2), pods: ['web-0 old', 'web-1 old', 'web-2'], steps: [] },
  {
    name: 'a pod below the partition is recreated',
    spec: maxUnavailable(1, 2),
    pods: ['web-0 old', 'web-2'],
    steps: ['create web-1 old'],
  },
  { name: 'a partition above all ordinals', spec: maxUnavailable(1, 9), pods: all('old'), steps: [] },
  {
    name: 'without parameters pods keep their revision',
    spec: { updateStrategy: { type: 'RollingUpdate' } },
    pods: ['web-0 old'],
    steps: ['create web-1 old'],
  },
  {
    name: 'two may be unavailable',
    gate: true,
    spec: maxUnavailable(2),
    pods: all('old'),
    steps: ['delete web-2', 'delete web-1'],
  },
  { name: 'two, with the gate off', spec: maxUnavailable(2), pods: all('old'), steps: ['delete web-2'] },
  {
    name: 'a share is rounded down',
    gate: true,
    spec: maxUnavailable('60%'),
    pods: all('old'),
    steps: ['delete web-2'],
  },
  {
    name: 'less than one means one',
    gate: true,
    spec: maxUnavailable('10%'),
    pods: all('old'),
    steps: ['delete web-2'],
  },
  {
    name: 'an updated pod is unavailable',
    gate: true,
    spec: { ...parallel, ...maxUnavailable(2) },
    pods: ['web-0 old', 'web-1 old', 'web-2 new pending'],
    steps: ['delete web-1'],
  },
  {
    name: 'the limit is used up',
    gate: true,
    spec: { ...parallel, ...maxUnavailable(1) },
    pods: ['web-0 old', 'web-1 old', 'web-2 new pending'],
    steps: [],
  },
  { name: 'pods with other names are ignored', pods: [...all('new'), 'web-x', 'other-7'], steps: [] },
];

function observe(
  given: StatefulSet,
  pods: readonly string[],
  gate = false,
  claims: readonly PersistentVolumeClaim[] = [],
) {
  return {
    dialect,
    set: given,
    reference: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'set', controller: true },
    pods: pods.map(pod),
    current: old,
    update,
    collisionCount: 0,
    features: { autoDeletePVC: claims.length > 0, maxUnavailable: gate, minReadySeconds: true },
    claim: (name: string) => claims.find((claim) => claim.metadata.name === name),
  };
}

function describe({ steps }: ReturnType<typeof planStatefulSet>): string[] {
  return steps.map(({ action }) => {
    const { name, labels } = action.pod.metadata;
    if (action.kind === 'create') return `create ${name} ${labels?.['controller-revision-hash']?.slice(4)}`;
    return [action.kind, name, ...(action.kind === 'delete' && action.cause ? [action.cause] : [])].join(' ');
  });
}

t.test('steps follow ordinals, revisions and policy', (t) => {
  for (const { name, spec, pods, gate, steps } of rows) {
    const given = { ...set(spec), status: { replicas: 3, currentReplicas: 3 } };
    t.same(describe(planStatefulSet(observe(given, pods, gate), now)), steps, name);
  }
  const deleted = { ...set(), metadata: { ...set().metadata, deletionTimestamp: '2022-05-03T11:00:00Z' } };
  t.same(planStatefulSet(observe(deleted, []), now).steps, [], 'being deleted');
  t.end();
});

t.test('each step updates the counts', (t) => {
  const plan = planStatefulSet(observe(set(), ['web-0 old', 'web-1 old', 'web-2 old']), now);
  const before = { replicas: 3, readyReplicas: 3, availableReplicas: 3, currentReplicas: 3, updatedReplicas: 0 };
  t.match(plan.status, { ...before, currentRevision: 'web-old', updateRevision: 'web-new' });
  t.match(plan.steps[0]?.status, { ...before, currentReplicas: 2 });
  t.match(planStatefulSet(observe(set(), []), now).steps[0]?.status, { replicas: 1, updatedReplicas: 1 });
  const failed = planStatefulSet(observe(set(), ['web-0 new failed']), now).steps[0]?.status;
  t.match(failed, { replicas: 0, updatedReplicas: 0 });
  t.match(planStatefulSet(observe(set(), ['web-0 new going']), now).status, { replicas: 1, updatedReplicas: 0 });
  t.end();
});

t.test('the status completes with the update, and is written when it changes', (t) => {
  const plan = planStatefulSet(observe(set(), all('new')), now);
  const written = statusToWrite(set(), plan.status);
  t.match(written, { currentRevision: 'web-new', currentReplicas: 3 });
  t.equal(statusToWrite({ ...set(), status: { ...written, replicas: 3 } }, plan.status), undefined);
  const partial = planStatefulSet(observe(set(), ['web-0 old', 'web-1', 'web-2']), now);
  t.match(statusToWrite(set(), partial.status), { currentRevision: 'web-old', currentReplicas: 1 });
  const onDelete = set({ updateStrategy: { type: 'OnDelete' } });
  t.match(statusToWrite(onDelete, plan.status), { currentRevision: 'web-old' }, 'OnDelete never completes');
  const zero = { observedGeneration: 0, replicas: 0, currentRevision: 'a', updateRevision: 'a' };
  const counts = { readyReplicas: 0, availableReplicas: 0, currentReplicas: 0, updatedReplicas: 0, collisionCount: 0 };
  t.equal(statusToWrite({ ...set(), status: zero }, { ...zero, ...counts }), undefined, 'zeros are omitted');
  t.end();
});

t.test('owners of claims follow the retention policy', (t) => {
  const policy = { whenDeleted: 'Delete', whenScaled: 'Delete' };
  const given = set({
    replicas: 1,
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }],
    persistentVolumeClaimRetentionPolicy: policy,
  });
  const claim = (name: string, owners: { kind: string; name: string; uid: string }[]): PersistentVolumeClaim => ({
    metadata: { name, ownerReferences: owners.map((owner) => ({ apiVersion: 'v1', ...owner })) },
    spec: {},
  });
  const withVolume = (each: Pod): Pod => ({
    ...each,
    spec: {
      containers: [],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: `data-${each.metadata.name}` } }],
    },
  });
  const steps = (pods: string[], claims: PersistentVolumeClaim[]) => {
    const observed = observe(given, pods, false, claims);
    return describe(planStatefulSet({ ...observed, pods: observed.pods.map(withVolume) }, now));
  };
  const bySet = { kind: 'StatefulSet', name: 'web', uid: 'set' };
  const byPod = (name: string, uid = name) => ({ kind: 'Pod', name, uid });
  t.same(steps(['web-0'], [claim('data-web-0', [bySet])]), []);
  t.same(steps(['web-0'], [claim('data-web-0', [])]), ['update web-0']);
  t.same(steps(['web-0', 'web-1'], [claim('data-web-0', [bySet]), claim('data-web-1', [bySet])]), [
    'updateClaims web-1',
    'delete web-1',
  ]);
  t.same(steps(['web-0', 'web-1'], [claim('data-web-0', [bySet]), claim('data-web-1', [byPod('web-1')])]), [
    'delete web-1',
  ]);
  t.same(steps([], [claim('data-web-0', [byPod('web-0', 'former')])]), [], 'the earlier claim must be deleted first');
  t.same(steps([], [claim('data-web-0', [])]), ['create web-0 new']);
  t.end();
});

t.test('unused revisions beyond the limit are deleted', (t) => {
  const observed = observe(set({ revisionHistoryLimit: 1 }), ['web-0 three']);
  const names = (limit: number) =>
    excessRevisions(
      { ...observed, set: set({ revisionHistoryLimit: limit }) },
      ['one', 'two', 'three', 'old', 'four', 'new'].map((name, i) => revision(`web-${name}`, name, i)),
    ).map(({ metadata }) => metadata.name);
  t.same(names(1), ['web-one', 'web-two'], 'revisions in use do not count');
  t.same(names(0), ['web-one', 'web-two', 'web-four']);
  t.same(names(10), []);
  t.end();
});

import t from 'tap';
import type { Deployment, DeploymentSpec, ReplicaSet } from '#api/apps/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { type DeploymentPlan, planDeployment } from '#controllers/deployment/plan.js';
import { maxSurge, maxUnavailable, newReplicaSetSize } from '#controllers/deployment/replica-counts.js';
import { sameTemplate, templateHash } from '#controllers/deployment/template-hash.js';

const now = Date.parse('2022-05-03T12:00:00Z');
const { deploymentRevision, revisionHistory, desiredReplicas, maxReplicas } = dialect.annotations;

function deployment(spec: Partial<DeploymentSpec>, more: Partial<Deployment> = {}): Deployment {
  return {
    metadata: { name: 'web', namespace: 'n', uid: 'd', generation: 1 },
    spec: { selector: { matchLabels: { a: 'b' } }, template: template('new'), ...spec },
    ...more,
  };
}

function template(image: string) {
  return { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image }] } };
}

let sequence = 0;
function replicaSet(
  image: string,
  size: number,
  available: number,
  noted?: [desired: number, max: number],
): Draft<ReplicaSet> {
  sequence += 1;
  return {
    metadata: {
      name: `web-${image}`,
      uid: image,
      generation: 1,
      creationTimestamp: new Date(sequence * 1000).toISOString(),
      annotations: {
        [deploymentRevision]: String(sequence),
        ...(noted === undefined ? {} : { [desiredReplicas]: String(noted[0]), [maxReplicas]: String(noted[1]) }),
      },
    },
    spec: { replicas: size, template: template(image) },
    status: { replicas: size, availableReplicas: available, readyReplicas: available, observedGeneration: 1 },
  };
}

function plan(object: Deployment, replicaSets: ReplicaSet[], oldPodsRun = false): DeploymentPlan {
  return planDeployment({ dialect, deployment: object, replicaSets, oldPodsRun: () => oldPodsRun }, now);
}

/** `old 3, new 2`: the new sizes of changed sets. */
function sizes(planned: DeploymentPlan): string {
  return planned.updates
    .filter(({ message }) => message !== undefined)
    .map(({ replicaSet: set }) => `${set.metadata.uid} ${set.spec.replicas}`)
    .join(', ');
}

t.test('surge is rounded up, and unavailability down', (t) => {
  const rolling = (replicas: number, surge: number | string, unavailable: number | string) =>
    deployment({
      replicas,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: surge, maxUnavailable: unavailable } },
    });
  const rows: [Deployment, number, number][] = [
    [rolling(10, '25%', '25%'), 3, 2],
    [rolling(1, '25%', '25%'), 1, 0],
    [rolling(10, 0, 0), 0, 1],
    [rolling(10, 2, 0), 2, 0],
    [rolling(2, 0, 5), 0, 2],
    [rolling(0, 3, 3), 3, 0],
    [deployment({ replicas: 4, strategy: { type: 'Recreate' } }), 0, 0],
    [deployment({ replicas: 10 }), 3, 2],
  ];
  for (const [object, surge, unavailable] of rows) {
    t.equal(maxSurge(object), surge, JSON.stringify(object.spec.strategy));
    t.equal(maxUnavailable(object), unavailable, JSON.stringify(object.spec.strategy));
  }
  t.equal(newReplicaSetSize(rolling(10, 3, 0), 10, 0), 3);
  t.equal(newReplicaSetSize(rolling(10, 3, 0), 13, 3), 3);
  t.equal(newReplicaSetSize(rolling(10, 30, 0), 10, 2), 10);
  t.end();
});

t.test('a rolling update grows the new set and shrinks old sets within its limits', (t) => {
  const spec: Partial<DeploymentSpec> = {
    replicas: 10,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 2 } },
  };
  const noted: [number, number] = [10, 12];
  const rows: [string, ReplicaSet[], string][] = [
    ['the new set grows first', [replicaSet('old', 10, 10, noted), replicaSet('new', 0, 0, noted)], 'new 2'],
    ['the old set shrinks next', [replicaSet('old', 10, 10, noted), replicaSet('new', 2, 0, noted)], 'old 8'],
    ['no step until new pods are available', [replicaSet('old', 8, 8, noted), replicaSet('new', 4, 0, noted)], ''],
    ['the old set shrinks gradually', [replicaSet('old', 8, 8, noted), replicaSet('new', 4, 3, noted)], 'old 5'],
    ['unavailable pods are removed first', [replicaSet('old', 10, 8, noted), replicaSet('new', 2, 0, noted)], 'old 8'],
    [
      'oldest of the old first',
      [replicaSet('older', 3, 3, noted), replicaSet('old', 7, 7, noted), replicaSet('new', 2, 1, noted)],
      'older 0',
    ],
    ['the last old pod', [replicaSet('old', 1, 1, noted), replicaSet('new', 10, 10, noted)], 'old 0'],
    ['no old pods', [replicaSet('old', 0, 0, noted), replicaSet('new', 10, 10, noted)], ''],
    ['surplus new pods', [replicaSet('new', 11, 11, [10, 12])], 'new 10'],
  ];
  for (const [name, sets, want] of rows) t.equal(sizes(plan(deployment(spec), sets)), want, name);
  t.end();
});

t.test('Recreate creates the new set after the old pods have ended', (t) => {
  const object = deployment({ replicas: 3, strategy: { type: 'Recreate' } });
  const stopping = plan(object, [replicaSet('old', 3, 3)]);
  t.equal(sizes(stopping), 'old 0');
  t.equal(stopping.create, undefined);
  t.equal(plan(object, [replicaSet('old', 0, 0)], true).create, undefined, 'pods still run');
  t.equal(plan(object, [replicaSet('old', 0, 0)], false).create?.spec.replicas, 3);
  t.equal(sizes(plan(object, [replicaSet('old', 0, 0), replicaSet('new', 0, 0)])), 'new 3');
  t.end();
});

t.test('scaling during a rollout is proportional', (t) => {
  const spec = (replicas: number): Partial<DeploymentSpec> => ({
    replicas,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 2 } },
  });
  const noted: [number, number] = [10, 12];
  const rows: [string, number, ReplicaSet[], string][] = [
    ['up', 20, [replicaSet('old', 8, 8, noted), replicaSet('new', 4, 4, noted)], 'old 15, new 7'],
    ['down', 5, [replicaSet('old', 8, 8, noted), replicaSet('new', 4, 4, noted)], 'new 2, old 5'],
    ['to zero', 0, [replicaSet('old', 8, 8, noted), replicaSet('new', 4, 4, noted)], 'new 0, old 0'],
    ['a single set', 20, [replicaSet('new', 10, 10, noted)], 'new 20'],
  ];
  for (const [name, replicas, sets, want] of rows) t.equal(sizes(plan(deployment(spec(replicas)), sets)), want, name);
  const paused = plan(deployment({ ...spec(10), paused: true }), [replicaSet('old', 10, 10, noted)]);
  t.equal(paused.create, undefined);
  t.end();
});

t.test('history beyond the limit is deleted, lowest revisions first', (t) => {
  const sets = ['a', 'b', 'c', 'd'].map((image) => replicaSet(image, 0, 0));
  const held = replicaSet('held', 0, 0);
  if (held.status !== undefined) held.status.replicas = 1;
  const status = { replicas: 1, updatedReplicas: 1, availableReplicas: 1, observedGeneration: 1 };
  const newest = replicaSet('new', 1, 1, [1, 2]);
  const object = (limit: number) => deployment({ replicas: 1, revisionHistoryLimit: limit }, { status });
  const gone = (limit: number, all: ReplicaSet[]) => plan(object(limit), all).deletes.map((set) => set.metadata.uid);
  t.same(gone(2, [...sets, newest]), ['a', 'b']);
  t.same(gone(0, [...sets, newest]), ['a', 'b', 'c', 'd']);
  t.same(gone(9, [...sets, newest]), []);
  t.same(gone(0, [held, newest]), [], 'a set that still has a pod stays');
  t.same(
    plan(deployment({ replicas: 1, revisionHistoryLimit: 0 }), [...sets, newest]).deletes,
    [],
    'only when complete',
  );
  t.end();
});

t.test('revisions are integers of 64 bits', (t) => {
  const status = { replicas: 1, updatedReplicas: 1, availableReplicas: 1, observedGeneration: 1 };
  const at = (image: string, revision: string | undefined, history?: string) => {
    const set = replicaSet(image, image === 'new' ? 1 : 0, 0);
    set.metadata.annotations = {
      ...(revision === undefined ? {} : { [deploymentRevision]: revision }),
      ...(history === undefined ? {} : { [revisionHistory]: history }),
    };
    return set;
  };
  const written = (old: string[], newest: ReplicaSet) => {
    const sets = [...old.map((revision, i) => at(`old${i}`, revision)), newest];
    const planned = plan(deployment({ replicas: 1 }, { status }), sets);
    const { annotations = {} } =
      planned.updates.find(({ replicaSet: set }) => set.metadata.uid === 'new')?.replicaSet.metadata ?? newest.metadata;
    return [annotations[deploymentRevision], annotations[revisionHistory]];
  };
  t.same(written(['9007199254740993'], at('new', '5')), ['9007199254740994', '5']);
  t.same(written(['9007199254740993'], at('new', undefined)), ['9007199254740994', undefined]);
  t.same(written(['9007199254740992'], at('new', '9007199254740993')), ['9007199254740993', undefined]);
  t.same(written(['9223372036854775807'], at('new', '7')), ['7', undefined], 'the largest revision wraps around');
  t.same(written(['9223372036854775808', '3'], at('new', '1')), ['4', '1'], 'more than 64 bits are malformed');
  t.same(written(['3'], at('new', 'x')), ['x', undefined], 'a malformed revision stays');
  t.same(written(['3'], at('new', '')), ['4', undefined]);
  t.same(written(['3'], at('new', '2', '1')), ['4', '1,2']);
  const [, history = ''] = written(['3'], at('new', '2', `12,${'1,'.repeat(100_000)}1`));
  t.equal(history.length <= 2000, true);
  t.match(history, /^1(,1)+,2$/);
  const gone = plan(deployment({ replicas: 1, revisionHistoryLimit: 1 }, { status: { ...status } }), [
    at('high', '9007199254740993'),
    at('low', '9007199254740992'),
    at('new', '9007199254740994'),
  ]).deletes;
  t.same(
    gone.map((set) => set.metadata.uid),
    ['low'],
  );
  t.end();
});

t.test('a rollout is requeued at its progress deadline', (t) => {
  const progressing = (reason: string, secondsAgo: number, status = 'True'): Partial<Deployment> => {
    const time = new Date(now - secondsAgo * 1000).toISOString();
    const conditions = [{ type: 'Progressing', status, reason, lastUpdateTime: time, lastTransitionTime: time }];
    return {
      status: {
        observedGeneration: 1,
        replicas: 3,
        updatedReplicas: 2,
        readyReplicas: 2,
        availableReplicas: 2,
        conditions,
      },
    };
  };
  const spec: Partial<DeploymentSpec> = { replicas: 3, progressDeadlineSeconds: 60 };
  const noted: [number, number] = [3, 4];
  const sets = () => [replicaSet('old', 1, 1, noted), replicaSet('new', 2, 0, noted)];
  const after = (object: Deployment) => plan(object, sets()).requeueAfterMs;
  t.equal(after(deployment(spec, progressing('ReplicaSetUpdated', 20))), 41_000);
  const { progressDeadlineSeconds: _, ...endless } = spec;
  t.equal(after(deployment(endless, progressing('ReplicaSetUpdated', 20))), undefined);
  t.equal(after(deployment({ ...spec, paused: true }, progressing('DeploymentPaused', 20, 'Unknown'))), undefined);
  t.equal(after(deployment(spec, progressing('ProgressDeadlineExceeded', 20, 'False'))), undefined);
  const late = plan(deployment(spec, progressing('ReplicaSetUpdated', 61)), sets());
  t.equal(late.requeueAfterMs, undefined);
  t.match(
    late.status?.status?.conditions?.find((each) => each.type === 'Progressing'),
    {
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
    },
  );
  t.end();
});

t.test('the collision count varies the hash', (t) => {
  const a = template('a');
  const reordered = { spec: { containers: [{ image: 'a', name: 'c' }] }, metadata: { labels: { a: 'b' } } };
  t.equal(templateHash(dialect, a, undefined), templateHash(dialect, reordered, undefined));
  t.not(templateHash(dialect, a, undefined), templateHash(dialect, a, 1));
  t.not(templateHash(dialect, a, undefined), templateHash(dialect, template('b'), undefined));
  t.match(templateHash(dialect, a, undefined), /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  const hashed = { ...a, metadata: { labels: { ...a.metadata.labels, 'pod-template-hash': 'x' } } };
  t.ok(sameTemplate(dialect, a, hashed));
  t.notOk(sameTemplate(dialect, a, template('b')));
  t.end();
});

t.test('planning does not modify its input', (t) => {
  const sets = [replicaSet('old', 10, 10), replicaSet('new', 0, 0)];
  const object = deployment({ replicas: 10, progressDeadlineSeconds: 60 });
  const before = structuredClone([object, sets]);
  plan(object, sets);
  t.strictSame([object, sets], before);
  t.end();
});

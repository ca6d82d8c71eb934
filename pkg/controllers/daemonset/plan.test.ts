import t from 'tap';
import type { DaemonSet, DaemonSetSpec } from '#api/apps/v1/types.gen.js';
import type { Node, Pod, Taint } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { excessRevisions, isNewStatus, planDaemonSet } from '#controllers/daemonset/plan.js';
import { revisionData } from '#controllers/history/revisions.js';

const now = Date.parse('2022-05-03T12:00:00Z');

function set(spec: Partial<DaemonSetSpec> = {}): DaemonSet {
  return {
    metadata: { name: 'd', namespace: 'n', uid: 'set', generation: 4 },
    spec: {
      template: { spec: { containers: [] } },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      ...spec,
    },
  };
}

/** `a`, or `a tainted` with a taint that no daemon tolerates, or `a evicting`. */
function node(text: string): Node {
  const [name = '', state] = text.split(' ');
  const effects: Readonly<Record<string, string>> = { tainted: 'NoSchedule', evicting: 'NoExecute' };
  const taints: Taint[] = state === undefined ? [] : [{ key: 'k', effect: effects[state] ?? '' }];
  return { metadata: { name, labels: { name } }, spec: { taints } };
}

/** `a new ready`: node, revision and state; `3@a …` is older than `4@a …`; `?a` is not scheduled to the node yet. */
function pod(text: string): Pod {
  const [place = '', of = 'new', state = 'ready'] = text.split(' ');
  const [, second = '0', waiting, name = ''] = /^(?:(\d)@)?(\?)?(.*)$/.exec(place) ?? [];
  const ready = state === 'ready' || state === 'going' || state === 'fresh';
  const lastTransitionTime = state === 'fresh' ? '2022-05-03T11:59:55Z' : '2022-05-03T10:00:00Z';
  const nodeSelectorTerms = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }];
  return {
    metadata: {
      name: `d-${second}${name}`,
      uid: text,
      creationTimestamp: `2022-05-03T09:00:0${second}Z`,
      labels: { 'controller-revision-hash': of },
      ...(state === 'going' ? { deletionTimestamp: '2022-05-03T11:59:00Z' } : {}),
    },
    spec: {
      containers: [],
      ...(waiting === undefined ? { nodeName: name } : {}),
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
    },
    status: ready
      ? { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] }
      : { phase: { failed: 'Failed', ended: 'Succeeded' }[state] ?? 'Pending' },
  };
}

const rolling = (maxUnavailable: number | string, maxSurge: number | string = 0): Partial<DaemonSetSpec> => ({
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable, maxSurge } },
});
const onDelete: Partial<DaemonSetSpec> = { updateStrategy: { type: 'OnDelete' } };
const abc = ['a', 'b', 'c'];
const onlyA = { template: { spec: { containers: [], nodeSelector: { name: 'a' } } } };

interface Row {
  readonly name: string;
  readonly spec?: Partial<DaemonSetSpec>;
  readonly nodes?: readonly string[];
  readonly pods: readonly string[];
  readonly backoff?: boolean;
  readonly noSurge?: boolean;
  /** `+a` creates a pod, `-d-0a` deletes one. */
  readonly does: readonly string[];
}

const rows: Row[] = [
  { name: 'no pod yet', pods: [], does: ['+a', '+b', '+c'] },
  { name: 'a pod exists', pods: ['b'], does: ['+a', '+c'] },
  { name: 'one waits to be scheduled', pods: ['?a', 'b', 'c'], does: [] },
  { name: 'a pod is being deleted', pods: ['a new going', 'b', 'c'], does: [] },
  { name: 'selected nodes only', spec: onlyA, pods: ['b'], does: ['+a', '-d-0b'] },
  {
    name: 'a named node only',
    spec: { template: { spec: { containers: [], nodeName: 'b' } } },
    pods: [],
    does: ['+b'],
  },
  { name: 'a taint prevents new pods', nodes: ['a tainted', 'b'], pods: [], does: ['+b'] },
  { name: 'the taint does not remove old pods', nodes: ['a tainted', 'b'], pods: ['a', 'b'], does: [] },
  { name: 'a NoExecute taint removes old pods', nodes: ['a evicting', 'b'], pods: ['a', 'b'], does: ['-d-0a'] },
  { name: 'a surplus pod', pods: ['2@a', '1@a', 'b', 'c'], does: ['-d-2a'] },
  { name: 'a scheduled one counts before an older one', pods: ['1@?a', '2@a', 'b', 'c'], does: ['-d-1a'] },
  { name: 'a pod that waits for a deleted node', pods: ['a', 'b', 'c', '?x'], does: ['-d-0x'] },
  { name: 'a pod of a deleted node', pods: ['a', 'b', 'c', 'x'], does: [] },
  { name: 'a failed pod', pods: ['a new failed', 'b', 'c'], does: ['-d-0a'] },
  { name: 'a failed pod in backoff', pods: ['a new failed', 'b', 'c'], backoff: true, does: [] },
  { name: 'a failed pod beside another pod', pods: ['1@a new failed', '2@a', 'b', 'c'], does: ['-d-1a'] },
  { name: 'a succeeded pod', pods: ['a new ended', 'b', 'c'], backoff: true, does: ['-d-0a'] },
  { name: 'an outdated pod', pods: ['a old', 'b old', 'c old'], does: ['-d-0a'] },
  { name: 'an outdated pod, OnDelete', spec: onDelete, pods: ['a old', 'b old', 'c old'], does: [] },
  {
    name: 'two pods may be unavailable',
    spec: rolling(2),
    pods: ['a old', 'b old', 'c old'],
    does: ['-d-0a', '-d-0b'],
  },
  { name: 'a share is rounded up', spec: rolling('34%'), pods: ['a old', 'b old', 'c old'], does: ['-d-0a', '-d-0b'] },
  { name: 'maxUnavailable 0 means one', spec: rolling(0), pods: ['a old', 'b old', 'c old'], does: ['-d-0a'] },
  { name: 'an updated pod is unavailable', pods: ['a new pending', 'b old', 'c old'], does: [] },
  {
    name: 'an updated pod is not available yet',
    spec: { minReadySeconds: 30 },
    pods: ['a new fresh', 'b old', 'c old'],
    does: [],
  },
  { name: 'a pod is being deleted for the update', pods: ['a old going', 'b old', 'c old'], does: [] },
  { name: 'a pod is missing: create before updating', pods: ['b old', 'c old'], does: ['+a'] },
  {
    name: 'unready old pods are deleted at once',
    pods: ['a new', 'b old pending', 'c old pending'],
    does: ['-d-0b', '-d-0c'],
  },
  { name: 'unready old pods count as unavailable', pods: ['a old', 'b old', 'c old pending'], does: ['-d-0c'] },
  { name: 'surge creates new pods first', spec: rolling(0, 1), pods: ['a old', 'b old', 'c old'], does: ['+a'] },
  {
    name: 'surge with the gate off',
    spec: rolling(0, 1),
    noSurge: true,
    pods: ['a old', 'b old', 'c old'],
    does: ['-d-0a'],
  },
  { name: 'surge is used up', spec: rolling(0, 1), pods: ['1@a old', '2@a new pending', 'b old', 'c old'], does: [] },
  { name: 'surge of two', spec: rolling(0, 2), pods: ['1@a old', '2@a new pending', 'b old', 'c old'], does: ['+b'] },
  {
    name: 'the old pod is deleted after the surge',
    spec: rolling(0, 1),
    pods: ['1@a old', '2@a new', 'b old', 'c old'],
    does: ['-d-1a'],
  },
  {
    name: 'surge where the old pod is unready',
    spec: rolling(0, 1),
    pods: ['a old', 'b old pending', 'c old pending'],
    does: ['+b', '+c', '+a'],
  },
  {
    name: 'surge where the old pod became unready',
    spec: rolling(0, 1),
    pods: ['1@a old pending', '2@a new pending', 'b old', 'c old'],
    does: ['-d-1a'],
  },
  {
    name: 'surge with a surplus pod',
    spec: rolling(0, 1),
    pods: ['1@a old', '2@a new pending', '3@a new', 'b old', 'c old'],
    does: ['-d-3a'],
  },
  { name: 'surge while a pod is being deleted', spec: rolling(0, 1), pods: ['a new going', 'b', 'c'], does: ['+a'] },
  { name: 'surge after a failure', spec: rolling(0, 1), pods: ['a new failed', 'b', 'c'], does: ['+a', '-d-0a'] },
  {
    name: 'surge during the backoff of a failed pod',
    spec: rolling(0, 1),
    pods: ['a new failed', 'b', 'c'],
    backoff: true,
    does: [],
  },
  { name: 'revisions with the same template are equal', pods: ['a twin', 'b', 'c'], does: [] },
];

function observe(spec: Partial<DaemonSetSpec>, nodes: readonly string[], pods: readonly string[]) {
  return {
    dialect,
    set: set(spec),
    nodes: nodes.map(node),
    pods: pods.map(pod),
    hashes: ['new', 'twin'],
    surgeEnabled: true,
    backoffMs: () => 0,
  };
}

t.test('created and deleted pods follow nodes and strategy', (t) => {
  for (const { name, spec = {}, nodes = abc, pods, backoff = false, noSurge = false, does } of rows) {
    const observed = observe(spec, nodes, pods);
    const backoffMs = () => (backoff ? 5000 : 0);
    const plan = planDaemonSet({ ...observed, backoffMs, surgeEnabled: !noSurge }, now);
    const { creates, deletes } = plan;
    t.same([...creates.map((each) => `+${each}`), ...deletes.map((each) => `-${each.pod.metadata.name}`)], does, name);
    if (backoff && does.length === 0) t.equal(plan.retryAfterMs, 5000, `${name}: later`);
  }
  t.end();
});

t.test('the status counts pods by state', (t) => {
  const count = (spec: Partial<DaemonSetSpec>, nodes: readonly string[], pods: readonly string[]) =>
    planDaemonSet(observe(spec, nodes, pods), now).status;
  t.same(
    count({ minReadySeconds: 30 }, ['a', 'b', 'c', 'd', 'e tainted'], ['a old', 'b new fresh', 'c new pending', 'e']),
    {
      observedGeneration: 4,
      desiredNumberScheduled: 4,
      currentNumberScheduled: 3,
      numberMisscheduled: 1,
      numberReady: 2,
      updatedNumberScheduled: 2,
      numberAvailable: 1,
      numberUnavailable: 3,
    },
  );
  t.match(
    count({}, abc, ['1@a old', '2@a']),
    { updatedNumberScheduled: 0, currentNumberScheduled: 1 },
    'the oldest counts',
  );
  t.match(count({}, ['a'], ['a', 'x']), { numberMisscheduled: 0 }, 'deleted nodes do not count');
  const status = count({}, [], []);
  const wire = { desiredNumberScheduled: 0, currentNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 };
  t.notOk(isNewStatus({ ...wire, observedGeneration: 4 }, status), 'zeros are omitted');
  t.ok(isNewStatus({ ...wire, observedGeneration: 3 }, status));
  t.ok(isNewStatus(undefined, status));
  t.end();
});

t.test('at most 250 pods are created in one reconcile', (t) => {
  const nodes = Array.from({ length: 300 }, (_, i) => `n${i}`);
  t.equal(planDaemonSet(observe({}, nodes, []), now).creates.length, 250);
  t.end();
});

t.test('the oldest unused revisions beyond the limit are deleted', (t) => {
  const revision = (hash: string, number: number) => ({
    metadata: { name: hash, labels: { 'controller-revision-hash': hash } },
    data: revisionData(dialect, {}),
    revision: number,
  });
  const revisions = ['one', 'two', 'three', 'new'].map(revision);
  const excess = (limit: number) =>
    excessRevisions({ ...observe({ revisionHistoryLimit: limit }, [], ['a one']) }, revisions).map(
      ({ metadata }) => metadata.name,
    );
  t.same(excess(3), []);
  t.same(excess(2), ['two'], 'one has a pod');
  t.same(excess(0), ['two', 'three']);
  t.end();
});

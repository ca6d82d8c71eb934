import t from 'tap';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import { type Candidate, decide, type OwnerState } from '#controllers/garbagecollector/collector.js';
import { Graph, type ObjectFacts } from '#controllers/garbagecollector/graph.js';

function setUp() {
  const seen: string[] = [];
  const graph = new Graph({
    attemptToDelete: (node) => seen.push(`look ${node.identity.uid}`),
    attemptToOrphan: (node) => seen.push(`orphan ${node.identity.uid}`),
    invalidOwner: (node, owner) => seen.push(`invalid ${node.identity.uid}>${owner.uid}`),
  });
  const take = () => seen.splice(0).sort();
  return { graph, take };
}

function ref(uid: string, more: Partial<OwnerReference> = {}): OwnerReference {
  return { apiVersion: 'v1', kind: 'K', name: uid, uid, ...more };
}

function facts(uid: string, owners: OwnerReference[] = [], more: Partial<ObjectFacts> = {}): ObjectFacts {
  return {
    uid,
    apiVersion: 'v1',
    kind: 'K',
    namespace: 'n',
    name: uid,
    owners,
    deleting: false,
    foreground: false,
    orphaning: false,
    ...more,
  };
}

t.test('owners observed first need no check', (t) => {
  const { graph, take } = setUp();
  graph.observe(facts('owner'));
  graph.observe(facts('child', [ref('owner')]));
  t.same(take(), []);
  graph.remove('owner');
  t.same(take(), ['look child']);
  graph.remove('child');
  t.equal(graph.size, 0);
  t.end();
});

t.test('only owners that were not observed are checked', (t) => {
  const { graph, take } = setUp();
  graph.observe(facts('child', [ref('owner')]));
  t.same(take(), ['look owner']);
  t.equal(graph.get('owner')?.virtual, true);
  graph.observe(facts('owner'));
  t.equal(graph.get('owner')?.virtual, false);
  t.equal(graph.get('child')?.suspect, false);
  t.same(take(), []);
  graph.remove('owner');
  t.equal(graph.get('child')?.suspect, true);
  t.end();
});

t.test('a virtual owner is removed with its last dependent', (t) => {
  const { graph, take } = setUp();
  graph.observe(facts('child', [ref('owner')]));
  graph.observe(facts('child', []));
  t.equal(graph.get('owner'), undefined);
  graph.observe(facts('other', [ref('owner')]));
  graph.remove('other');
  t.equal(graph.size, 1);
  take();
  t.end();
});

t.test('an object with other coordinates of a virtual owner is checked', (t) => {
  const { graph, take } = setUp();
  graph.observe(facts('a', [ref('owner', { apiVersion: 'unknown.example.com/v1', kind: 'Unknown' })]));
  t.same(take(), ['look owner']);
  graph.observe(facts('b', [ref('owner')]));
  t.same(take(), ['look b'], 'another kind');
  graph.observe(
    facts('c', [ref('owner', { apiVersion: 'unknown.example.com/v1', kind: 'Unknown' })], { namespace: 'm' }),
  );
  t.same(take(), ['look c'], 'another namespace');
  graph.observe(facts('d', [ref('owner', { apiVersion: 'unknown.example.com/v1', kind: 'Unknown' })]));
  t.same(take(), [], 'the same');
  t.end();
});

t.test('references with wrong coordinates are reported', (t) => {
  const { graph, take } = setUp();
  graph.observe(facts('owner', [], { namespace: 'm' }));
  graph.observe(facts('child', [ref('owner')]));
  t.same(take(), ['invalid child>owner', 'look child']);
  graph.observe(facts('early', [ref('late')]));
  take();
  graph.observe(facts('late', [], { name: 'other' }));
  t.same(take(), ['invalid early>late', 'look early']);
  const cluster = facts('scope', [], { namespace: '' });
  graph.observe(cluster);
  graph.observe(facts('grandchild', [ref('scope')]));
  graph.observe(facts('versioned', [ref('scope', { apiVersion: 'v2' })]));
  t.same(take(), [], 'cluster-scoped owners are in reach, in any version of their group');
  t.end();
});

t.test('foreground deletion waits for blocking dependents', (t) => {
  const { graph, take } = setUp();
  const blocks = { blockOwnerDeletion: true };
  graph.observe(facts('owner'));
  graph.observe(facts('a', [ref('owner', blocks)]));
  graph.observe(facts('b', [ref('owner')]));
  graph.observe(facts('owner', [], { deleting: true, foreground: true }));
  t.same(take(), ['look a', 'look b', 'look owner']);
  t.same(
    graph
      .get('owner')
      ?.blockingDependents()
      .map((node) => node.identity.uid),
    ['a'],
  );
  graph.observe(facts('owner', [], { deleting: true, foreground: true }));
  t.same(take(), [], 'once');
  graph.observe(facts('a', [ref('owner', { blockOwnerDeletion: false })]));
  t.same(take(), ['look owner'], 'no longer blocked');
  graph.observe(facts('c', [ref('owner', blocks)]));
  t.same(take(), ['look c'], 'a new dependent is checked too');
  graph.remove('b');
  t.same(take(), ['look owner']);
  t.end();
});

t.test('orphaning is requested once', (t) => {
  const { graph, take } = setUp();
  graph.observe(facts('owner', [], { orphaning: true }));
  t.same(take(), [], 'the finalizer alone means nothing');
  graph.observe(facts('owner', [], { deleting: true, orphaning: true }));
  graph.observe(facts('owner', [], { deleting: true, orphaning: true }));
  t.same(take(), ['orphan owner']);
  t.end();
});

t.test('the verdict depends on owners, dependents and finalizers', (t) => {
  const rows: [string, OwnerState[], Partial<Candidate>, unknown][] = [
    ['no owners', [], {}, { kind: 'keep' }],
    ['an owner exists', ['solid'], {}, { kind: 'keep' }],
    ['no owner exists', ['absent', 'absent'], {}, { kind: 'delete', propagation: 'Background', unblockOwners: false }],
    ['one of two owners is deleted', ['solid', 'absent'], {}, { kind: 'dropReferences', uids: ['o1'] }],
    ['one owner waits, one exists', ['waiting', 'solid'], {}, { kind: 'dropReferences', uids: ['o0'] }],
    ['the owner waits', ['waiting'], {}, { kind: 'delete', propagation: 'Background', unblockOwners: false }],
    [
      'the owner waits, and the object has dependents',
      ['waiting'],
      { hasDependents: true },
      { kind: 'delete', propagation: 'Foreground', unblockOwners: false },
    ],
    [
      'a circle',
      ['waiting'],
      { hasDependents: true, dependentWaits: true },
      { kind: 'delete', propagation: 'Foreground', unblockOwners: true },
    ],
    [
      'orphan finalizer',
      ['absent'],
      { hasOrphanFinalizer: true },
      { kind: 'delete', propagation: 'Orphan', unblockOwners: false },
    ],
    [
      'foreground finalizer',
      ['absent'],
      { hasForegroundFinalizer: true },
      { kind: 'delete', propagation: 'Foreground', unblockOwners: false },
    ],
    ['an owner that cannot be looked up', ['unresolvable', 'absent'], {}, { kind: 'keep' }],
  ];
  for (const [name, states, more, want] of rows) {
    const owners = states.map((state, i) => ({ reference: ref(`o${i}`), state }));
    const candidate = {
      owners,
      hasDependents: false,
      dependentWaits: false,
      hasOrphanFinalizer: false,
      hasForegroundFinalizer: false,
    };
    t.strictSame(decide({ ...candidate, ...more }), want, name);
  }
  t.end();
});

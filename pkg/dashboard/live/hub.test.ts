/** Subscriptions of a page: shared sources, batches of changes, windows of rows. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import { Hub } from '#dashboard/live/hub.js';
import { ScriptedRequests } from '#dashboard/live/testing/scripted-requests.js';
import type { LiveState, TableSpec, TableState } from '#dashboard/model/messages.js';

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

const columnDefinitions = ['Name', 'Status'].map((name) => ({
  ...{ name, type: 'string', format: '', description: '', priority: 0 },
}));
const row = (name: string, status: string, version: number) => ({
  cells: [name, status],
  object: { metadata: { name, namespace: 'shop', resourceVersion: String(version) } },
});
const tableOf = (rows: readonly unknown[], version: number) => ({
  ...{ kind: 'Table', columnDefinitions, rows },
  metadata: { resourceVersion: String(version) },
});
const pods: TableSpec = {
  ...{ type: 'table', path: '/api/v1/pods', filter: '', sorting: undefined, first: 0, count: 3 },
};

function setting(t: Test) {
  const requests = new ScriptedRequests();
  const clock = new ManualClock({ startMs: 0 });
  const sent: { readonly id: number; readonly state: LiveState }[] = [];
  const options = { requests, clock, random: () => 0.5, metaGroup: 'meta.k8s.io' };
  const hub = new Hub(options, (id, state) => sent.push({ id, state }));
  t.teardown(() => hub.close());
  const pass = (ms: number) => clock.advance(ms, settle);
  const table = (id: number): TableState => sent.findLast((each) => each.id === id)?.state as TableState;
  return { requests, hub, sent, pass, table };
}

const namesOf = ({ rows }: TableState) => rows.map(({ name }) => name);

t.test('subscriptions of one collection share its watch, which outlives them for the way back', async (t) => {
  const { requests, hub, pass, table } = setting(t);
  hub.show(1, pods);
  hub.show(2, { ...pods, filter: 'status:bad' });
  t.equal(requests.lists.length, 1, 'one list');
  requests.lists.shift()?.answer(tableOf([row('a', 'good', 1), row('b', 'bad', 2)], 2));
  await pass(100);
  t.same([namesOf(table(1)), namesOf(table(2))], [['a', 'b'], ['b']], 'each has its rows');
  hub.end(1);
  hub.end(2);
  await pass(29_000);
  hub.show(3, pods);
  await pass(100);
  t.equal(requests.lists.length, 0, 'no new list on the way back');
  t.same(namesOf(table(3)), ['a', 'b'], 'the rows are there at once');
  hub.end(3);
  await pass(31_000);
  t.ok(requests.watches[0]?.isOver, 'the watch ends after a while');
  hub.show(4, pods);
  t.equal(requests.lists.length, 1, 'a new list');
});

t.test('a burst of events is sent in few states', async (t) => {
  const { requests, hub, sent, pass, table } = setting(t);
  hub.show(1, pods);
  requests.lists.shift()?.answer(tableOf([], 1));
  await pass(100);
  const before = sent.length;
  const [watch] = requests.watches;
  for (let i = 0; i < 1000; i++) watch?.send({ type: 'ADDED', object: tableOf([row(`p${i}`, 'x', i + 2)], i + 2) });
  await settle();
  while (table(1).total < 1000) await pass(50);
  t.ok(sent.length - before < 30, 'in far fewer messages than events');
  t.equal(table(1).rows.length, 3, 'with the rows of the window only');
});

t.test('a change of the window, the filter or the order needs no request', async (t) => {
  const { requests, hub, pass, table } = setting(t);
  hub.show(1, pods);
  requests.lists.shift()?.answer(
    tableOf(
      ['a', 'b', 'c', 'd', 'e'].map((name, i) => row(name, `s${9 - i}`, i)),
      9,
    ),
  );
  await pass(100);
  t.same(namesOf(table(1)), ['a', 'b', 'c']);
  hub.show(1, { ...pods, first: 2 });
  await pass(100);
  t.same([table(1).first, namesOf(table(1))], [2, ['c', 'd', 'e']], 'the window');
  hub.show(1, { ...pods, sorting: { column: 'Status', descending: false } });
  await pass(100);
  t.same(namesOf(table(1)), ['e', 'd', 'c'], 'the order');
  hub.show(1, { ...pods, filter: '-b' });
  await pass(100);
  t.same([namesOf(table(1)), table(1).matching, table(1).total], [['a', 'c', 'd'], 4, 5], 'the filter');
  t.equal(requests.lists.length, 0, 'no request');
  hub.show(1, { ...pods, path: '/api/v1/namespaces/shop/pods' });
  t.equal(requests.lists.length, 1, 'another namespace is another collection');
});

t.test('rows are the same as those of a table that is sorted anew', async (t) => {
  const random = seededRandom(11);
  const pick = (count: number) => Math.floor(random() * count);
  const { requests, hub, pass, table } = setting(t);
  hub.show(1, { ...pods, filter: '-s3', sorting: { column: 'Status', descending: true }, count: 100 });
  requests.lists.shift()?.answer(tableOf([], 1));
  await pass(100);
  const [watch] = requests.watches;
  const model = new Map<string, string>();
  let version = 1;
  for (let round = 0; round < 60; round++) {
    for (let i = pick(300); i > 0; i--) {
      const name = `p${pick(40)}`;
      const status = `s${pick(6)}`;
      const type = !model.has(name) ? 'ADDED' : random() < 0.3 ? 'DELETED' : 'MODIFIED';
      if (type === 'DELETED') model.delete(name);
      else model.set(name, status);
      version++;
      watch?.send({ type, object: tableOf([row(name, status, version)], version) });
    }
    // The source takes one event in a turn.
    for (let turn = 0; turn < 400; turn++) await Promise.resolve();
    await pass(200);
    const expected = [...model]
      .filter(([, status]) => status !== 's3')
      .sort(([a, x], [b, y]) => (x === y ? (a < b ? -1 : 1) : x < y ? 1 : -1))
      .map(([name]) => name);
    t.same(namesOf(table(1)), expected, `round ${round}`);
  }
});

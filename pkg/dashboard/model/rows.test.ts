/** Filters, orders and the sorted rows against a slow reference. */
import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { ageText, durationMs } from '#dashboard/model/age.js';
import { parseFilter } from '#dashboard/model/filter.js';
import { comparison } from '#dashboard/model/order.js';
import { SortedRows } from '#dashboard/model/sorted-rows.js';
import { type Cell, type Column, type Row, rowOf } from '#dashboard/model/table.js';

const columns: Column[] = ['Name', 'Ready', 'Status', 'Restarts', 'Age', 'Memory'].map((name) => ({
  ...{ name, type: 'string', format: '', description: '', priority: 0 },
}));
const nowMs = Date.parse('2026-06-01T12:00:00Z');

function row(name: string, cells: readonly Cell[], more: object = {}): Row {
  return rowOf(
    { name, namespace: 'shop', creationTimestamp: '2026-06-01T11:00:00Z', ...more },
    [name, ...cells],
    nowMs,
  );
}

t.test('filters', async (t) => {
  const web = row('web-1', ['1/1', 'Running', '3 (5m ago)', '1h', '64Mi'], { labels: { app: 'Shop', tier: 'web' } });
  const rows: [filter: string, matches: boolean][] = [
    ['', true],
    ['WEB', true],
    ['web running', true],
    ['web pending', false],
    ['-pending', true],
    ['-web', false],
    ['status:run', true],
    ['status:web', false],
    ['-status:run', false],
    ['namespace:shop', true],
    ['namespace:sho', false],
    ['sho', true],
    ['app=shop', true],
    ['app=', true],
    ['app=web', false],
    ['none:web', false],
    ['-', true],
  ];
  for (const [filter, matches] of rows)
    t.equal(
      parseFilter(filter, columns)?.(web) ?? true,
      matches,
      `"${filter}" ${matches ? 'matches' : 'does not match'}`,
    );
});

t.test('columns are ordered by what their cells mean', async (t) => {
  const order = (column: string, texts: readonly Cell[], place: number) => {
    const rows = texts.map((text, i) =>
      row(
        `n${i}`,
        Array.from({ length: 5 }, (_, j) => (j === place - 1 ? text : '')),
      ),
    );
    return rows.toSorted(comparison({ column, descending: false }, columns)).map(({ cells }) => cells[place]);
  };
  t.same(order('Ready', ['10/10', '9/10', '0/1'], 1), ['0/1', '9/10', '10/10']);
  t.same(order('Restarts', ['12', '7 (5m ago)', 0], 3), [0, '7 (5m ago)', '12']);
  t.same(order('Memory', ['1Gi', '900Mi', '2Ki'], 5), ['2Ki', '900Mi', '1Gi']);
  t.same(order('Status', ['Running', 'error', 'Completed'], 2), ['Completed', 'error', 'Running']);
  const old = row('old', [], { creationTimestamp: '2026-05-01T11:00:00Z' });
  const young = row('young', []);
  t.same(
    [old, young].sort(comparison({ column: 'Age', descending: false }, columns)),
    [young, old],
    'the youngest first',
  );
});

t.test('sorted rows equal a sort of all rows, whatever changes', async (t) => {
  const random = seededRandom(39);
  const any = (limit: number) => Math.floor(random() * limit);
  const compare = comparison({ column: 'Status', descending: true }, columns);
  const test = parseFilter('-pending', columns);
  const rows = new Map<string, Row>();
  const sorted = new SortedRows([], compare, test);
  for (let step = 0; step < 3000; step++) {
    const name = `pod-${any(200)}`;
    const before = rows.get(`shop/${name}`);
    const status = ['Running', 'Pending', 'Failed', 'Completed'][any(4)] ?? '';
    const after = random() < 0.25 ? undefined : row(name, ['', status]);
    if (after === undefined) rows.delete(`shop/${name}`);
    else rows.set(after.key, after);
    sorted.replace(before, after);
    if (step % 50 !== 0) continue;
    const expected = [...rows.values()].filter((each) => test?.(each) !== false).sort(compare);
    t.same(sorted.slice(0, 1000), expected, `after ${step} changes`);
    t.equal(sorted.length, expected.length);
  }
});

t.test('durations', async (t) => {
  for (const [ms, text] of [
    [5000, '5s'],
    [119_000, '119s'],
    [125_000, '2m5s'],
    [600_000, '10m'],
    [4 * 3_600_000 + 60_000, '4h1m'],
    [30 * 3_600_000, '30h'],
    [3 * 86_400_000, '3d'],
    [400 * 86_400_000, '400d'],
  ] as const) {
    t.equal(ageText(ms), text);
    t.equal(durationMs(text), ms, `${text} in milliseconds`);
  }
  t.equal(durationMs('web'), undefined);
  t.equal(ageText(Number.NaN), '');
});

import t from 'tap';
import { csiStorageCapacityStrategy } from '#api/storage/v1/csistoragecapacity/strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { createFailures, type Draft, updateFailures, withField } from '#api/testing/strategy-table.js';

const strategy = csiStorageCapacityStrategy as unknown as Strategy;
const base: Draft = {
  metadata: { name: 'a', namespace: 'b' },
  storageClassName: 'fast',
  capacity: '10Gi',
  nodeTopology: { matchLabels: { zone: 'a' } },
};

t.test('storage capacities are validated as in 1.24', (t) => {
  t.strictSame(createFailures(strategy, base), []);
  const rows: [path: string, value: unknown, failure: RegExp][] = [
    ['storageClassName', '', /^storageClassName: Invalid/],
    ['storageClassName', 'A b', /^storageClassName: Invalid/],
    ['capacity', '-1', /^capacity: .*greater than or equal to 0/],
    ['nodeTopology', { matchLabels: { 'a b': '' } }, /^nodeTopology.matchLabels/],
  ];
  for (const [path, value, failure] of rows) t.match(createFailures(strategy, withField(base, path, value)), [failure]);
  t.match(updateFailures(strategy, base, withField(base, 'storageClassName', 'slow')), [
    /^storageClassName: .*immutable/,
  ]);
  t.match(updateFailures(strategy, base, withField(base, 'nodeTopology', undefined)), [/^nodeTopology: .*immutable/]);
  t.strictSame(updateFailures(strategy, base, withField(base, 'capacity', '5Gi')), []);
  t.end();
});

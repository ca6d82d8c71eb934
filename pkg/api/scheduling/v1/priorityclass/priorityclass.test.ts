import t from 'tap';
import { leaseStrategy } from '#api/coordination/v1/lease/strategy.js';
import { priorityClassStrategy } from '#api/scheduling/v1/priorityclass/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

const aged = { creationTimestamp: '2024-05-31T23:00:00Z' };

t.test('priority classes', (t) => {
  const base: Draft = { metadata: { name: 'p', ...aged }, value: 10 };
  const system = (name: string, value: number): Draft => ({ metadata: { name }, value });
  const reserved = (why: string): string =>
    `metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: ${why}`;
  const rows: [Draft, ...string[]][] = [
    [base],
    [withField(base, 'value', 1000000000)],
    [
      withField(base, 'value', 1000000001),
      'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
    ],
    [
      withField(base, 'preemptionPolicy', 'X'),
      'preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"',
    ],
    [system('system-node-critical', 2000001000)],
    [system('system-cluster-critical', 2000000000)],
    [system('system-node-critical', 5), reserved('value of system-node-critical PriorityClass must be 2000001000')],
    [system('system-mine', 5), reserved('system-mine is not a known system priority class')],
  ];
  for (const [draft, ...want] of rows) t.strictSame(createFailures(priorityClassStrategy, draft), want);
  t.strictSame(updateFailures(priorityClassStrategy, base, withField(base, 'value', 11)), [
    'Value: Forbidden: may not be changed in an update.',
  ]);
  t.strictSame(updateFailures(priorityClassStrategy, base, withField(base, 'preemptionPolicy', 'Never')), [
    'preemptionPolicy: Invalid value: "Never": field is immutable',
  ]);
  const object = created(priorityClassStrategy, base);
  t.match(object, { preemptionPolicy: 'PreemptLowerPriority', metadata: { generation: 1 } });
  t.strictSame(priorityClassStrategy.cells?.(object as never, testContext), ['p', 10, false, '60m']);
  t.end();
});

t.test('leases', (t) => {
  const base: Draft = { metadata: { name: 'l', namespace: 'ns', ...aged }, spec: { holderIdentity: 'me' } };
  t.strictSame(createFailures(leaseStrategy, base), []);
  t.strictSame(
    createFailures(leaseStrategy, withField(base, 'spec', { leaseDurationSeconds: 0, leaseTransitions: -1 })),
    [
      'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
      'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
    ],
  );
  t.strictSame(leaseStrategy.cells?.(created(leaseStrategy, base) as never, testContext), ['l', 'me', '60m']);
  t.equal(leaseStrategy.allowCreateOnUpdate, true);
  t.equal(leaseStrategy.allowUnconditionalUpdate, false);
  t.end();
});

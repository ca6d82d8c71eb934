import t from 'tap';
import { priorityClassStrategy } from '#api/scheduling/v1/priorityclass/strategy.js';
import { checkRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('priority classes are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'p' }, value: 10 };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['value', 1000000001, 'value: Forbidden: maximum allowed value of a user defined priority is 1000000000'],
    ['value', 1000000000],
    ['value', -5],
    [
      'preemptionPolicy',
      'Other',
      'preemptionPolicy: Unsupported value: "Other": supported values: "PreemptLowerPriority", "Never"',
    ],
    ['preemptionPolicy', 'Never'],
    ['preemptionPolicy', '', 'preemptionPolicy: Required value'],
    [
      'metadata.name',
      'system-mine',
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
    ],
    [
      'metadata.name',
      'system-node-critical',
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000",
    ],
  ];
  checkRules(t, priorityClassStrategy, base, create);
  const update: RuleRow[] = [
    ['value', 11, 'Value: Forbidden: may not be changed in an update.'],
    ['preemptionPolicy', 'Never', 'preemptionPolicy: Invalid value: "Never": field is immutable'],
    ['description', 'x'],
    ['globalDefault', true],
  ];
  checkUpdateRules(t, priorityClassStrategy, base, update);
  t.end();
});

t.test('priority classes of the system are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'system-node-critical' }, value: 2000001000 };
  const create: RuleRow[] = [
    [
      'value',
      5,
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000",
    ],
    [
      'globalDefault',
      true,
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: globalDefault of system-node-critical PriorityClass must be false",
    ],
    [
      'metadata.name',
      'system-cluster-critical',
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-cluster-critical PriorityClass must be 2000000000",
    ],
  ];
  checkRules(t, priorityClassStrategy, base, create);
  t.end();
});

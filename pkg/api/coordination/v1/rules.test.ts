import t from 'tap';
import { leaseStrategy } from '#api/coordination/v1/lease/strategy.js';
import { checkRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('leases are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'l', namespace: 'ns' },
    spec: { holderIdentity: 'me', leaseDurationSeconds: 1 },
  };
  const create: RuleRow[] = [
    [
      'metadata.name',
      'A',
      `metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['spec', {}],
    ['spec.leaseDurationSeconds', 0, 'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
    ['spec.leaseDurationSeconds', -1, 'spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0'],
    ['spec.leaseTransitions', -1, 'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
    ['spec.leaseTransitions', 0],
  ];
  checkRules(t, leaseStrategy, base, create);
  const update: RuleRow[] = [
    ['spec.leaseDurationSeconds', 0, 'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
    ['spec.holderIdentity', 'other'],
  ];
  checkUpdateRules(t, leaseStrategy, base, update);
  t.end();
});

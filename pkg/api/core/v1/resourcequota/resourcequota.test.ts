import t from 'tap';
import { resourceQuotaStrategy } from '#api/core/v1/resourcequota/strategy.js';
import { goQuantityValue } from '#api/go/go-values.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import { type Draft, withField } from '#api/testing/strategy-table.js';

const base: Draft = {
  metadata: { name: 'q', namespace: 'ns' },
  spec: { hard: { pods: '1' }, scopes: ['Terminating', 'NotBestEffort'] },
};

t.test('rules of quotas', (t) => {
  const rows: RuleRow[] = [
    ['spec.hard', { 'requests.cpu': '1', 'limits.memory': '1Gi', pods: '1', 'count/jobs.batch': '3' }],
    [
      'spec.hard',
      { 'requests.storage': '1' },
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating", "NotBestEffort"}: unsupported scope applied to resource',
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating", "NotBestEffort"}: unsupported scope applied to resource',
    ],
    [
      'spec.hard',
      { storage: '1' },
      'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
    ],
    [
      'spec.hard',
      { 'count/': '1' },
      'spec.hard[count/]: Invalid value: "count/": name part must be non-empty',
      `spec.hard[count/]: Invalid value: "count/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    ['spec.hard', { pods: '-1' }, 'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0'],
    [
      'spec.hard',
      { 'services.nodeports': '500m', secrets: '1' },
      `spec.hard[services.nodeports]: Invalid value: ${goQuantityValue('500m').toString()}: must be an integer`,
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating", "NotBestEffort"}: unsupported scope applied to resource',
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating", "NotBestEffort"}: unsupported scope applied to resource',
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating", "NotBestEffort"}: unsupported scope applied to resource',
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating", "NotBestEffort"}: unsupported scope applied to resource',
    ],
    ['spec.hard', { 'requests.example.com/gpu': '1' }],
    [
      'spec.scopes',
      ['Odd', 'Terminating', 'NotTerminating'],
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Odd", "Terminating", "NotTerminating"}: unsupported scope',
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Odd", "Terminating", "NotTerminating"}: conflicting scopes',
    ],
    [
      'spec.scopeSelector',
      { matchExpressions: [{ scopeName: 'Odd', operator: 'Is' }] },
      'spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Odd": unsupported scope',
      'spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a valid selector operator',
    ],
    [
      'spec.scopeSelector',
      { matchExpressions: [{ scopeName: 'BestEffort', operator: 'In' }] },
      `spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`,
      "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
    ],
  ];
  checkRules(t, resourceQuotaStrategy, base, rows);
  t.end();
});

t.test('scopes must not change except for their order', (t) => {
  const rows: RuleRow[] = [
    ['spec.scopes', ['NotBestEffort', 'Terminating']],
    [
      'spec.scopes',
      ['Terminating'],
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating"}: field is immutable',
    ],
    ['spec.hard', { pods: '2' }],
    [
      'spec.hard',
      { odd: '2' },
      'spec.hard[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
      'spec.hard[odd]: Invalid value: "odd": must be a standard resource for quota',
    ],
  ];
  checkUpdateRules(t, resourceQuotaStrategy, base, rows);
  const statuses: RuleRow[] = [
    ['hard', { pods: '1' }],
    [
      'hard',
      { odd: '1' },
      'status.hard[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
      'status.hard[odd]: Invalid value: "odd": must be a standard resource for quota',
    ],
    ['used', { pods: '-1' }, 'status.used[pods]: Invalid value: "-1": must be greater than or equal to 0'],
  ];
  checkStatusRules(t, resourceQuotaStrategy, { base: withField(base, 'spec.scopes', []) }, statuses);
  t.end();
});

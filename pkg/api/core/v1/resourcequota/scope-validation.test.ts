import t from 'tap';
import { resourceQuotaStrategy } from '#api/core/v1/resourcequota/strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { createFailures, type Draft, withField } from '#api/testing/strategy-table.js';

const strategy = resourceQuotaStrategy as unknown as Strategy;

const base: Draft = { metadata: { name: 'a', namespace: 'b' }, spec: { hard: { pods: '1', cpu: '1' } } };
const select = (...matchExpressions: object[]) => ({ matchExpressions });

t.test('scopes and selectors of scopes', (t) => {
  const good = [
    withField(base, 'spec.scopes', ['Terminating', 'NotBestEffort']),
    withField(base, 'spec.scopeSelector', select({ scopeName: 'PriorityClass', operator: 'In', values: ['high'] })),
    withField(base, 'spec.scopeSelector', select({ scopeName: 'Terminating', operator: 'Exists' })),
  ];
  for (const draft of good) t.strictSame(createFailures(strategy, draft), []);
  const rows: [path: string, value: unknown, failure: RegExp][] = [
    ['spec.scopes', ['Odd'], /^spec.scopes: .*unsupported scope$/],
    ['spec.scopes', ['BestEffort'], /^spec.scopes: .*unsupported scope applied to resource/],
    ['spec.scopes', ['Terminating', 'NotTerminating'], /conflicting scopes/],
    [
      'spec.scopeSelector',
      select({ scopeName: 'Odd', operator: 'Exists' }),
      /matchExpressions.scopeName: .*unsupported scope/,
    ],
    [
      'spec.scopeSelector',
      select({ scopeName: 'BestEffort', operator: 'Exists' }),
      /matchExpressions: .*applied to resource/,
    ],
    ['spec.scopeSelector', select({ scopeName: 'Terminating', operator: 'In', values: ['a'] }), /must be 'Exist' when/],
    ['spec.scopeSelector', select({ scopeName: 'PriorityClass', operator: 'In' }), /values: Required/],
    [
      'spec.scopeSelector',
      select({ scopeName: 'PriorityClass', operator: 'Exists', values: ['a'] }),
      /values: .*must be no value/,
    ],
    ['spec.scopeSelector', select({ scopeName: 'PriorityClass', operator: 'Near' }), /operator: .*not a valid/],
    [
      'spec.scopeSelector',
      select({ scopeName: 'Terminating', operator: 'Exists' }, { scopeName: 'NotTerminating', operator: 'Exists' }),
      /matchExpressions: .*conflicting scopes/,
    ],
  ];
  for (const [path, value, failure] of rows) {
    const failures = createFailures(strategy, withField(base, path, value));
    t.ok(
      failures.some((text) => failure.test(text)),
      `${path} ${failure}`,
      { failures },
    );
  }
  t.end();
});

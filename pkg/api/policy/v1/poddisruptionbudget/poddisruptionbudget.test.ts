import t from 'tap';
import { podDisruptionBudgetStrategy } from '#api/policy/v1/poddisruptionbudget/strategy.js';
import { created, createFailures, type Draft, testContext, withField } from '#api/testing/strategy-table.js';

const metadata = { name: 'n', namespace: 'ns', creationTimestamp: '2024-05-31T23:00:00Z' };

t.test('disruption budgets', (t) => {
  const base: Draft = { metadata, spec: { minAvailable: 1 } };
  t.strictSame(createFailures(podDisruptionBudgetStrategy, base), []);
  t.match(createFailures(podDisruptionBudgetStrategy, withField(base, 'spec.maxUnavailable', 1)), [
    /minAvailable and maxUnavailable cannot be both set$/,
  ]);
  t.strictSame(createFailures(podDisruptionBudgetStrategy, withField(base, 'spec.minAvailable', '101%')), [
    'spec.minAvailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
  ]);
  t.strictSame(podDisruptionBudgetStrategy.cells?.(created(podDisruptionBudgetStrategy, base) as never, testContext), [
    'n',
    '1',
    'N/A',
    0,
    '60m',
  ]);
  t.end();
});

import t from 'tap';
import { limitRangeStrategy } from '#api/core/v1/limitrange/strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { createFailures, type Draft, withField } from '#api/testing/strategy-table.js';

const strategy = limitRangeStrategy as unknown as Strategy;

const base: Draft = { metadata: { name: 'a', namespace: 'b' }, spec: { limits: [{ type: 'Container' }] } };

t.test('ratios and claims', (t) => {
  const rows: [path: string, value: unknown, failure: RegExp][] = [
    [
      'spec.limits',
      [{ type: 'PersistentVolumeClaim' }],
      /limits\[0\].limits: Required value: either minimum or maximum/,
    ],
    ['spec.limits', [{ type: 'Container', maxLimitRequestRatio: { cpu: '500m' } }], /ratio 500m is less than 1/],
    [
      'spec.limits',
      [{ type: 'Container', min: { cpu: '1' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '3' } }],
      /ratio 3 is greater than max\/min = 2.000000/,
    ],
  ];
  const fits = [{ type: 'Container', min: { cpu: '1' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '2' } }];
  t.strictSame(createFailures(strategy, withField(base, 'spec.limits', fits)), []);
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

import t from 'tap';
import type { ResourceQuota, ResourceQuotaStatus } from '#api/core/v1/types.gen.js';
import { leavesMore, planQuota } from '#controllers/resourcequota/plan.js';

type Amounts = Readonly<Record<string, string>>;
const quota = (hard: Amounts, status?: ResourceQuotaStatus): ResourceQuota => ({
  metadata: { name: 'q' },
  spec: { hard },
  ...(status && { status }),
});

t.test('the status of a quota', (t) => {
  const rows: [what: string, quota: ResourceQuota, usage: Amounts, wanted: unknown][] = [
    [
      'new',
      quota({ pods: '2' }),
      { pods: '1' },
      { status: { hard: { pods: '2' }, used: { pods: '1' } }, begins: true },
    ],
    ['right', quota({ pods: '2' }, { hard: { pods: '2' }, used: { pods: '1' } }), { pods: '1' }, { begins: false }],
    [
      'written otherwise',
      quota({ cpu: '1' }, { hard: { cpu: '1' }, used: { cpu: '500m' } }),
      { cpu: '0.5' },
      { begins: false },
    ],
    [
      'less',
      quota({ pods: '2' }, { hard: { pods: '2' }, used: { pods: '2' } }),
      { pods: '1' },
      { status: { hard: { pods: '2' }, used: { pods: '1' } }, begins: false },
    ],
    [
      'another limit',
      quota({ pods: '3' }, { hard: { pods: '2' }, used: { pods: '2' } }),
      { pods: '2' },
      { status: { hard: { pods: '3' }, used: { pods: '2' } }, begins: false },
    ],
    [
      'a limit more, and one less',
      quota({ secrets: '3' }, { hard: { pods: '2' }, used: { pods: '2' } }),
      { secrets: '0' },
      { status: { hard: { secrets: '3' }, used: { secrets: '0' } }, begins: true },
    ],
    [
      'what could not be counted stays as it was, or unknown',
      quota({ pods: '3', 'count/odd': '1' }, { hard: { pods: '2' }, used: { pods: '2' } }),
      {},
      { status: { hard: { pods: '3', 'count/odd': '1' }, used: { pods: '2' } }, begins: false },
    ],
    ['nothing limited', quota({}), {}, { status: { hard: {}, used: {} }, begins: false }],
  ];
  for (const [what, observed, usage, wanted] of rows) t.same(planQuota(observed, usage), wanted, what);
  t.end();
});

t.test('when a count says that more is left', (t) => {
  const observed = quota({ pods: '3' }, { hard: { pods: '3' }, used: { pods: '2' } });
  t.equal(leavesMore(observed, { pods: '1' }), true);
  t.equal(leavesMore(observed, { pods: '2' }), false);
  t.equal(leavesMore(observed, { pods: '3' }), false);
  t.equal(leavesMore(observed, { secrets: '3' }), true, 'of what was not known before');
  t.end();
});

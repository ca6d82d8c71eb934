import t from 'tap';
import { isPodAvailable, isPodReady, setPodCondition } from '#api/core/v1/pod/conditions.js';
import type { Pod, PodStatus } from '#api/core/v1/types.gen.js';

const before = '2024-01-01T00:00:00Z';
const now = '2024-01-01T00:01:00Z';

t.test('setting a condition', (t) => {
  const first = setPodCondition(undefined, { type: 'Ready', status: 'False' }, before);
  t.strictSame(first, { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: before }] });
  t.equal(setPodCondition(first, { type: 'Ready', status: 'False' }, now), first, 'nothing changes');
  const reason = setPodCondition(first, { type: 'Ready', status: 'False', reason: 'R' }, now);
  t.equal(reason.conditions?.[0]?.lastTransitionTime, before, 'the time changes only with the status');
  t.equal(reason.conditions?.[0]?.reason, 'R');
  const flipped = setPodCondition(reason, { type: 'Ready', status: 'True' }, now);
  t.strictSame(flipped.conditions, [{ type: 'Ready', status: 'True', lastTransitionTime: now }]);
  const two = setPodCondition(flipped, { type: 'Initialized', status: 'True' }, now);
  t.strictSame(
    two.conditions?.map((c) => c.type),
    ['Ready', 'Initialized'],
  );
  t.end();
});

t.test('ready and available', (t) => {
  const pod = (status: PodStatus): Pod => ({ metadata: {}, spec: { containers: [] }, status });
  const ready = pod({ conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: before }] });
  const at = Date.parse(now);
  t.ok(isPodReady(ready));
  t.notOk(isPodReady(pod({})));
  t.ok(isPodAvailable(ready, 0, at));
  t.ok(isPodAvailable(ready, 30, at));
  t.notOk(isPodAvailable(ready, 60, at));
  t.notOk(isPodAvailable(pod({ conditions: [{ type: 'Ready', status: 'True' }] }), 1, at), 'no transition time');
  t.end();
});

import t from 'tap';
import type { FlowSchema } from '#api/flowcontrol/v1beta2/types.gen.js';
import { danglingCondition, Pace } from '#apiserver/bootstrap/flow-schema-status.js';

const now = Date.UTC(2026, 0, 1);
const schema = (level: string, status: FlowSchema['status'] = undefined): FlowSchema =>
  ({
    metadata: { name: 'a' },
    spec: { priorityLevelConfiguration: { name: level }, matchingPrecedence: 1 },
    ...(status === undefined ? {} : { status }),
  }) as FlowSchema;

t.test('the condition says whether the priority level exists', async (t) => {
  const there = danglingCondition(schema('one'), new Set(['one']), now);
  t.same(there, {
    type: 'Dangling',
    status: 'False',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'Found',
    message: 'This FlowSchema references the PriorityLevelConfiguration object named "one" and it exists',
  });
  t.match(danglingCondition(schema('two'), new Set(['one']), now), {
    status: 'True',
    reason: 'NotFound',
    message: 'This FlowSchema references the PriorityLevelConfiguration object named "two" but there is no such object',
  });
  const right = { conditions: there === undefined ? [] : [there] };
  t.equal(danglingCondition(schema('one', right), new Set(['one']), now + 1000), undefined, 'nothing to write');
  t.match(danglingCondition(schema('one', right), new Set(), now), { status: 'True' }, 'the level is gone');
});

t.test('a status is written six times a minute at most', async (t) => {
  const pace = new Pace();
  const times = Array.from({ length: 8 }, (_, i) => pace.allows('a', i * 1000));
  t.strictSame(times, [true, true, true, true, true, true, false, false], 'the seventh waits');
  t.ok(pace.allows('b', 8000), 'another schema does not');
  t.ok(pace.allows('a', 60_000), 'until the first is a minute old');
  t.notOk(pace.allows('a', 60_500), 'but no more');
});

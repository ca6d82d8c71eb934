import t from 'tap';
import { dueInMs, outdated, readPlan } from '#cmd/orch/backup/plan.js';

const plan = { everyMs: 1000, keep: 2, to: '/backups' };
const at = (ms: number) => ({ manifest: { time: new Date(ms).toISOString() } });

t.test('when the next backup is due', async (t) => {
  t.equal(dueInMs(plan, [], 5000), 0, 'the first at once');
  t.equal(dueInMs(plan, [at(4000), at(4600)], 5000), 600);
  t.equal(dueInMs(plan, [at(1000)], 5000), 0, 'one that was missed at once');
  t.equal(dueInMs(plan, [at(90_000)], 5000), 1000, 'a clock that was set back does not put it off');
});

t.test('the newest are kept, in whatever order they are found', async (t) => {
  const [first, second, third] = [at(1000), at(2000), at(3000)];
  t.same(outdated(plan, [second, first, third]), [first]);
  t.same(outdated(plan, [first]), []);
});

t.test('what is no plan is refused', async (t) => {
  const dir = t.testdir({
    good: JSON.stringify(plan),
    bad: '{"everyMs":0,"keep":1,"to":"x"}',
    none: 'null',
    torn: '{',
  });
  t.same(readPlan(`${dir}/good`), plan);
  t.equal(readPlan(`${dir}/missing`), undefined);
  for (const name of ['bad', 'none', 'torn']) t.throws(() => readPlan(`${dir}/${name}`), SyntaxError, name);
});

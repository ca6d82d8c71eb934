import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { Expectations, expectationsTimeoutMs } from '#controllers/framework/expectations.js';

type Step = (expectations: Expectations) => void;

const rows: [string, Step[], boolean][] = [
  ['nothing done', [], true],
  ['a creation without an answer', [(e) => e.creating('o')], false],
  ['a creation that failed', [(e) => e.creating('o'), (e) => e.created('o', undefined)], true],
  ['created, not seen', [(e) => e.creating('o'), (e) => e.created('o', 'a')], false],
  ['created, then seen', [(e) => e.creating('o'), (e) => e.created('o', 'a'), (e) => e.sawObject('o', 'a')], true],
  ['seen before the answer', [(e) => e.creating('o'), (e) => e.sawObject('o', 'a'), (e) => e.created('o', 'a')], true],
  [
    'seen and gone before the answer',
    [(e) => e.creating('o'), (e) => e.sawDeletion('o', 'a'), (e) => e.created('o', 'a')],
    true,
  ],
  ['another object seen', [(e) => e.creating('o'), (e) => e.created('o', 'a'), (e) => e.sawObject('o', 'b')], false],
  [
    'one of two seen',
    [(e) => e.creating('o'), (e) => e.creating('o'), (e) => e.created('o', 'a'), (e) => e.sawObject('o', 'a')],
    false,
  ],
  ['a deletion not seen', [(e) => e.deleting('o', 'a')], false],
  ['a deletion seen', [(e) => e.deleting('o', 'a'), (e) => e.sawDeletion('o', 'a')], true],
  ['a deletion of another seen', [(e) => e.deleting('o', 'a'), (e) => e.sawDeletion('o', 'b')], false],
  ['a deletion that failed', [(e) => e.deleting('o', 'a'), (e) => e.notDeleted('o', 'a')], true],
  ['another owner', [(e) => e.deleting('p', 'a')], true],
  ['the owner forgotten', [(e) => e.deleting('o', 'a'), (e) => e.forget('o')], true],
];

t.test('what is outstanding', (t) => {
  for (const [name, steps, satisfied] of rows) {
    const expectations = new Expectations(new VirtualClock());
    for (const step of steps) step(expectations);
    t.equal(expectations.waitMs('o') === 0, satisfied, name);
  }
  t.end();
});

t.test('what is never seen is given up', async (t) => {
  const clock = new VirtualClock();
  const expectations = new Expectations(clock);
  expectations.deleting('o', 'a');
  t.equal(expectations.waitMs('o'), expectationsTimeoutMs);
  await clock.advance(expectationsTimeoutMs);
  t.equal(expectations.waitMs('o'), 0);
  expectations.deleting('o', 'b');
  expectations.sawDeletion('o', 'b');
  t.equal(expectations.waitMs('o'), 0, 'what was given up does not come back');
});

import t from 'tap';
import { PatternMatcher } from '#api/apiextensions/v1/customresourcedefinition/pattern.js';
import { realClock } from '#apimachinery/clock.js';

t.test('patterns that take for ever share what time there is', (t) => {
  let looks = 0;
  const patterns = new PatternMatcher(() => {
    looks += 1;
    return realClock.monotonic();
  });
  t.equal(patterns.matches('^(a+)+$', `${'a'.repeat(1000)}!`), undefined);
  // Nobody waits for the others: not even for those of which each would be fast.
  const before = looks;
  const others = Array.from({ length: 10_000 }, () => patterns.matches('^(a+)+$', 'aaa'));
  t.ok(others.every((found) => found === undefined));
  t.equal(looks, before, 'they are not tried at all');
  const next = new PatternMatcher(realClock.monotonic);
  t.equal(next.matches('^(a+)+$', 'aaa'), true, 'another object has time of its own');
  t.equal(next.matches('^(a+)+$', 'b'), false);
  t.end();
});

t.test('the time is that of the clock which was given', (t) => {
  let nowMs = 0;
  const patterns = new PatternMatcher(() => {
    nowMs += 30;
    return nowMs;
  });
  t.same(
    Array.from({ length: 4 }, () => patterns.matches('^a$', 'a')),
    [true, true, undefined, undefined],
  );
  t.end();
});

import t from 'tap';
import { matchesPattern } from '#api/apiextensions/v1/customresourcedefinition/pattern.js';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

t.test('patterns that take for ever share what time there is', async (t) => {
  const hostile = () => matchesPattern('^(a+)+$', `${'a'.repeat(1000)}!`);
  t.equal(hostile(), undefined);
  // Nobody waits for the others: not even for those of which each would be fast.
  const before = process.cpuUsage();
  const others = Array.from({ length: 10_000 }, () => matchesPattern('^(a+)+$', 'aaa'));
  t.ok(others.every((found) => found === undefined));
  const { user } = process.cpuUsage(before);
  t.ok(user < 5_000_000, 'they are not tried at all');
  await nextTurn();
  t.equal(matchesPattern('^(a+)+$', 'aaa'), true);
  t.equal(matchesPattern('^(a+)+$', 'b'), false);
});

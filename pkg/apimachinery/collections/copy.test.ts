import t from 'tap';
import { StepBudget } from '#apimachinery/async/steps.js';
import { copyJson, copyJsonSteps } from '#apimachinery/collections/copy.js';

void t.test('copies share nothing and are the same JSON', async (t) => {
  for (const text of [
    'null',
    '1',
    '"a"',
    '[]',
    '{}',
    '{"a":[{"b":null},[1,"x"]],"c":{"d":false}}',
    '{"__proto__":{"a":1}}',
  ]) {
    const value: unknown = JSON.parse(text);
    const copy = copyJson(value);
    t.equal(JSON.stringify(copy), text);
    if (typeof value === 'object' && value !== null) t.not(copy, value);
  }
  const value = { a: [{ b: 1 }] };
  const copy = copyJson(value);
  t.not(copy.a, value.a);
  t.not(copy.a[0], value.a[0]);
  t.same(Object.keys(copyJson({ a: undefined, b: 1 })), ['b']);
  t.strictSame(copyJson([undefined, { a: 1 }]), [undefined, { a: 1 }]);
});

t.test('pauses after a number of parts at any depth', async (t) => {
  const numbers = Array.from({ length: 400 }, (_, i) => i);
  const value = { a: [numbers, { b: numbers }], c: Object.fromEntries(numbers.map((i) => [`k${i}`, [i]])), d: null };
  const steps = copyJsonSteps(value, new StepBudget(300));
  let pauses = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pauses++;
  t.ok(pauses > 4, `${pauses} pauses`);
  t.strictSame(step.value, value);
});

import t from 'tap';
import { copyJson } from '#apimachinery/copy.js';

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
});

import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { duplicateKeys, mergedMembers } from '#apimachinery/codec/json/duplicates.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const scheme = schemeFor(kubernetesDialect);
const pod = scheme.type('core.v1.Pod');

function merged(text: string): unknown {
  return allSteps(mergedMembers(Buffer.from(text), pod));
}

t.test('without repeated members the result equals that of the parser', async (t) => {
  const seed = Number(process.env.SEED ?? 34);
  const random = seededRandom(seed);
  const objects = new RandomObjects(random);
  for (let i = 0; i < 200; i++) {
    const text = JSON.stringify(objects.object(pod), undefined, i % 3);
    t.strictSame(merged(text), parseJSONText(text, 'literals'), `SEED=${seed} ${text}`);
  }
  for (const text of ['null', ' [ ] ', '"a"', '{"__proto__":{"a":1},"spec":{"x":"\\"}{"}}', '[[],{},[{}]]', '1.0']) {
    t.strictSame(merged(text), parseJSONText(text, 'literals'), text);
  }
});

t.test('repeated members are merged as in 1.24', async (t) => {
  const rows: readonly (readonly [text: string, value: unknown])[] = [
    ['{"spec":{"hostname":"a"},"spec":{"subdomain":"b"}}', { spec: { hostname: 'a', subdomain: 'b' } }],
    ['{"metadata":{"labels":{"a":"1"},"labels":{"b":"2"}}}', { metadata: { labels: { a: '1', b: '2' } } }],
    ['{"metadata":{"labels":{"a":"1"},"labels":null,"labels":{"b":"2"}}}', { metadata: { labels: { b: '2' } } }],
    ['{"spec":{"hostname":"a","hostname":null}}', { spec: { hostname: 'a' } }],
    [
      '{"spec":{"containers":[{"name":"a"},{"name":"b"}],"containers":[{"image":"i"}]}}',
      { spec: { containers: [{ name: 'a', image: 'i' }] } },
    ],
    ['{"unknown":{"a":1},"unknown":{"b":2}}', { unknown: { b: 2 } }],
    // Objects undeclared in the type.
    ['{"metadata":{"labels":{"a":{"x":1},"a":{"y":2}}}}', { metadata: { labels: { a: { y: 2 } } } }],
    ['{"metadata":[{"a":1}],"metadata":{"name":"n"}}', { metadata: { name: 'n' } }],
  ];
  for (const [text, value] of rows) t.strictSame(merged(text), value, text);
});

t.test('a large text is scanned in steps', async (t) => {
  const text = `{"metadata":{"labels":{${'"a":"b",'.repeat(50_000)}"c":"d"}}}`;
  let steps = 0;
  for (const _ of mergedMembers(Buffer.from(text), pod)) steps++;
  t.ok(steps > 5, `${steps} steps`);
});

t.test('repeated members are reported by path', async (t) => {
  const many = Array.from({ length: 100 }, (_, i) => `"key${i}":{}`).join();
  const rows: readonly (readonly [text: string, paths: readonly string[]])[] = [
    ['null', []],
    ['{"a":{"b":1},"c":[{"b":"a"},{"b":{}}]}', []],
    ['{"a":[0,{"b":1,"b":2,"b":3}],"a":{}}', ['a[1].b', 'a[1].b', 'a']],
    // Equal hashes, and two spellings of a key.
    ['{"Aa":1,"BB":2}', []],
    ['{"Aa":1,"BB":2,"Aa":3}', ['Aa']],
    ['{"a":1,"\\u0061":2,"\\u0062":3,"b":4}', ['a', 'b']],
    ['{"é":1,"x":{"é":1},"é":2}', ['é']],
    [`{${many}}`, []],
    [`{"x":[{${many},"key0":1,"key99":1,"key100":1}]}`, ['x[0].key0', 'x[0].key99']],
    // A frame that was used at the same depth before.
    ['[{"a":1},{"a":1},{"b":[{"a":1}],"c":{"a":1}}]', []],
  ];
  for (const [text, paths] of rows) t.same(allSteps(duplicateKeys(Buffer.from(text), 10)), paths, text);
  t.equal(allSteps(duplicateKeys(Buffer.from(`{${'"a":1,'.repeat(50)}"b":2}`), 10)).length, 10, 'at most the limit');
  let steps = 0;
  for (const _ of duplicateKeys(Buffer.from(`[${'{"a":"b"},'.repeat(50_000)}0]`), 10)) steps++;
  t.ok(steps > 5, `${steps} steps`);
});

import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { checkSize, maxEntries, maxMapEntries, maxObjects } from '#apimachinery/codec/json/size-limit.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';

const list = (element: string, count: number) => Array.from({ length: count }, () => element).join();
const map = (count: number) => Array.from({ length: count }, (_, i) => `"key${i}": "v"`).join();
const check = (text: string) => () => checkSize(Buffer.from(text));

t.test('texts with too many parts are refused before parsing', async (t) => {
  const refused = { code: 413, message: /^Request entity too large: limit is \d+ / };
  t.throws(check(`{"a":[${list('{}', maxObjects)}]}`), refused);
  t.throws(check(`{"a":{${map(maxEntries + 1)}}}`), refused);
  t.throws(check(`{"a":[${list(`{${map(200)}}`, 2000)}]}`), refused);
  t.throws(check(`{"a":{${map(maxEntries)}},"b":{${map(maxEntries)}}}`), refused);
  t.throws(check(`{"a":[${list('"ab"', 160_000)}]}`), refused);
  t.throws(check('['.repeat(1_000_000)), { code: 400, message: 'json: exceeded max depth' });
});

t.test('large texts with few parts pass', async (t) => {
  check(`{"a":[${list('{}', maxObjects - 1)}]}`)();
  check(`{"a":{${map(maxEntries)}},"b":{${map(maxMapEntries - maxEntries)}}}`)();
  check(`{"a":[${list(`{${map(500)}}`, 500)}]}`)();
  check(`{"a":[${list('"ab"', 140_000)}]}`)();
  check(`{"a":[${list('""', 700_000)}]}`)();
  const text = JSON.stringify({ a: '{"b":[{}]}\\"'.repeat(100_000), c: '\\' });
  check(text)();
  t.equal(JSON.parse(text).c, '\\');
  for (const broken of ['"', '\\', '}', '{"a":"\\"', ']]]]'].map((end) => `${' '.repeat(300_000)}${end}`))
    check(broken)();
});

t.test('Protobuf readers with a limit refuse too many parts', async (t) => {
  const scheme = schemeFor(kubernetesDialect);
  const pod = scheme.kind('v1', 'Pod');
  if (pod === undefined) throw new Error('no pods');
  const tolerations = (count: number) => {
    const object = { metadata: { name: 'a' }, spec: { tolerations: Array.from({ length: count }, () => ({})) } };
    return new ObjectCodec(scheme).encode(object, pod, 'protobuf');
  };
  const limited = new ObjectCodec(scheme, { maxParts: 1000 });
  const decode = (codec: ObjectCodec, count: number) =>
    codec.decode(tolerations(count), { encoding: 'protobuf', expected: pod });
  t.throws(() => decode(limited, 1001), { code: 413 });
  t.ok(decode(limited, 900));
  t.ok(decode(new ObjectCodec(scheme), 1001));
});

/** Items parse like plain JSON, and equal managed fields are shared. */

import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { JsonItemReader } from '#client/rest/object-encoding.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);

const fields = (name: string) => ({ 'f:metadata': { 'f:labels': { '.': {}, [`k:{"name":"${name}\\"}"}`]: {} } } });

function item(name: string, ...managed: unknown[]) {
  const managedFields = managed.map((fieldsV1) => ({ manager: 'm', fieldsV1 }));
  return { metadata: { name, managedFields }, spec: { text: 'häuser {"fieldsV1":{}} \\', n: 1 } };
}

function read(reader: JsonItemReader, object: unknown): unknown {
  return reader.read(Buffer.from(JSON.stringify(object)));
}

t.test('parses objects with and without managed fields', (t) => {
  const objects: unknown[] = [
    {},
    { metadata: {} },
    { metadata: null, fieldsV1: {} },
    item('a', fields('x')),
    item('b', fields('x'), fields('y'), {}),
    item('c'),
    // In unexpected places, or of unexpected types.
    { metadata: { name: 'a' }, data: { fieldsV1: { a: 1 } } },
    { fieldsV1: { a: 1 }, ...item('a', fields('x')) },
    item('a', 0, fields('x'), 1, fields('y')),
    item('a', fields('x'), 0, 'text', null, [{}]),
    { metadata: { managedFields: [null, { fieldsV1: fields('x') }] } },
    { items: { fieldsV1: {} } },
    item('a', { big: 'x'.repeat(20_000) }),
    ...Array.from({ length: 100 }, (_, i) => item(`p${i}`, fields(`x${i % 12}`), fields(`y${i % 3}`))),
    [],
    3,
  ];
  const reader = new JsonItemReader();
  for (let round = 0; round < 2; round++) {
    for (const object of objects) t.strictSame(read(reader, object), object);
  }
  const [one, other] = ['a', 'b'].map((name) => read(reader, item(name, fields('x'))) as ReturnType<typeof item>);
  const shared = [one, other].map((object) => object?.metadata.managedFields[0]?.fieldsV1);
  t.equal(shared[0], shared[1]);
  t.ok(Object.isFrozen(shared[0]));
  t.notOk(Object.isFrozen(one?.metadata.managedFields[0]));
  t.end();
});

t.test('refuses invalid objects like JSON.parse', (t) => {
  const random = seededRandom(seed);
  const reader = new JsonItemReader();
  const text = JSON.stringify(item('b', fields('x'), fields('y')));
  const parts = ['{', '}', '"', '\\', ',', '"fieldsV1":{', '[', '7', 'null', ':'];
  const outcome = (read: () => unknown): unknown => {
    try {
      return read();
    } catch {
      return 'refused';
    }
  };
  for (let i = 0; i < 3000; i++) {
    const at = Math.floor(random() * text.length);
    const part = parts[Math.floor(random() * parts.length)] ?? '';
    const broken = text.slice(0, at) + part + text.slice(at + Math.floor(random() * 3));
    const expected = JSON.stringify(outcome(() => JSON.parse(broken)));
    if (JSON.stringify(outcome(() => reader.read(Buffer.from(broken)))) !== expected) t.fail(`${broken}, SEED=${seed}`);
  }
  t.throws(() => reader.read(Buffer.from('{"metadata":{"fieldsV1":{"a":')), { name: 'TransportError' });
  t.end();
});

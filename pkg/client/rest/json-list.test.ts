/** Lists parse like plain JSON however they are split into chunks, and each object is passed on once. */

import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { JsonListReader } from '#client/rest/json-list.js';
import { parseJson } from '#client/rest/response.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);

const object = (name: string, size = 1) => ({
  metadata: { name, note: '"},{"metadata":{' },
  spec: { l: ['ü\\', {}, 1, 'x'.repeat(size)] },
});
const lists: unknown[] = [
  { kind: 'PodList', metadata: { resourceVersion: '1' }, items: [] },
  { items: [object('a')] },
  {
    kind: 'PodList',
    metadata: { resourceVersion: '1' },
    items: [object('a'), object('b', 300), object('c')],
    more: [1],
  },
  { items: [{ items: [object('a')] }, { metadata: {} }, {}] },
  { metadata: { items: [object('a')] }, items: [object('b')] },
  { metadata: { items: [] } },
  { metadata: { name: 'x'.repeat(40_000) }, items: [object('a')] },
  { items: null },
  { items: {} },
  [],
  3,
];

/** The parsed list, and the objects passed to `take`. */
function read(text: string, chunkBytes: number): { list: unknown; passed: unknown[] } {
  const passed: unknown[] = [];
  const reader = new JsonListReader((bytes) => {
    const item = parseJson(bytes);
    passed.push(item);
    return item;
  });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) reader.push(Buffer.from(bytes.subarray(at, at + chunkBytes)));
  return { list: reader.finish(), passed };
}

t.test('parses compact and indented lists in one or many chunks', async (t) => {
  for (const list of lists) {
    const items = (list as { items?: unknown }).items;
    for (const text of [JSON.stringify(list), `${JSON.stringify(list, null, 2)}\n`]) {
      for (const chunkBytes of [1, 7, 64, 100_000]) {
        const { list: actual, passed } = read(text, chunkBytes);
        t.strictSame(actual, list, `${text.slice(0, 60)} by ${chunkBytes}`);
        t.strictSame(passed, Array.isArray(items) ? items : []);
      }
    }
  }
  t.strictSame(read('{"items":[{} ,\n{"a":1}\t] }', 3).list, { items: [{}, { a: 1 }] });
});

t.test('parses each object as soon as it has arrived', async (t) => {
  const read: string[] = [];
  const reader = new JsonListReader((bytes) => read.push(bytes.toString()));
  reader.push(Buffer.from('{"items":[{"a":1},{"b":"}'));
  t.same(read, ['{"a":1}']);
  reader.push(Buffer.from('\\"}"},'));
  t.same(read, ['{"a":1}', '{"b":"}\\"}"}']);
  t.throws(() => reader.finish(), { name: 'TransportError' });
});

t.test('refuses invalid lists', async (t) => {
  const random = seededRandom(seed);
  const text = JSON.stringify({ kind: 'PodList', items: [object('a'), object('b'), object('c')], end: 1 });
  const parts = ['{', '}', '"', '\\', ',', '"items":[', '[', ']', '7', 'null', ':', ' '];
  for (let i = 0; i < 3000; i++) {
    const at = Math.floor(random() * text.length);
    const part = parts[Math.floor(random() * parts.length)] ?? '';
    const broken = text.slice(0, at) + part + text.slice(at + Math.floor(random() * 3));
    let expected: unknown;
    let actual: unknown;
    try {
      expected = JSON.parse(broken);
    } catch {}
    try {
      actual = read(broken, 1 + Math.floor(random() * 200)).list;
    } catch {
      // Lists must contain objects.
      const items = (expected as { items?: unknown[] } | undefined)?.items;
      if (Array.isArray(items) && items.every((item) => typeof item === 'object' && item !== null)) t.fail(broken);
      continue;
    }
    if (JSON.stringify(actual) !== JSON.stringify(expected)) t.fail(`${broken}, SEED=${seed}`);
  }
});

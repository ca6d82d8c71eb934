import t from 'tap';
import { encodeStored, isStoredLayout, laidOut, splice } from '#storage/layout.js';

const inOrder = '{"kind":"A","apiVersion":"v1","metadata":{"name":"a"},"spec":{"metadata":{"x":1}}}';

t.test('values in the layout stay identical', async (t) => {
  const others = [
    '{"apiVersion":"v1","kind":"A","metadata":{},"spec":1}\n',
    '{"kind":"A","metadata":{"name":"a"}}',
    '{"metadata":{}}',
  ];
  for (const text of [inOrder, ...others]) {
    const value = Buffer.from(text);
    t.equal(laidOut(value), value);
  }
});

t.test('members in another order are moved', async (t) => {
  const cases = [
    [
      '{"apiVersion":"v1","data":{"metadata":{"a":1}},"kind":"A","metadata":{"name":"a"}}',
      { data: { metadata: { a: 1 } } },
    ],
    [
      '{ "apiVersion" : "v1" ,\n"kind":"A", "metadata" : { "name": "a"} , "x":[{"y":"}]\\"{"},null,-1.5e3]}',
      { x: [{ y: '}]"{' }, null, -1500] },
    ],
    ['{"apiVersion":"v1","kind":"A","status":"x","metadata":{"name":"a"},"\\u0061":true}', { status: 'x', a: true }],
  ] as const;
  for (const [text, rest] of cases) {
    const value = laidOut(Buffer.from(text));
    if (value === undefined) throw new Error(`${text} has no layout`);
    t.ok(isStoredLayout(value));
    const metadata = { resourceVersion: '7', name: 'a' };
    t.strictSame(JSON.parse(splice(value, 7n).toString()), { kind: 'A', apiVersion: 'v1', metadata, ...rest });
  }
});

t.test('members keep their text', async (t) => {
  const value = laidOut(Buffer.from('{"a":9223372036854775807,"b":1.0,"metadata":{}}'));
  t.equal(value?.toString(), '{"metadata":{},"a":9223372036854775807,"b":1.0}');
});

t.test('invalid metadata are replaced', async (t) => {
  for (const text of ['{"kind":"A","metadata":"x","apiVersion":"v1"}', '{"kind":"A","apiVersion":"v1"}']) {
    t.equal(laidOut(Buffer.from(text))?.toString(), '{"kind":"A","apiVersion":"v1","metadata":{}}');
  }
});

t.test('values that are not JSON objects', async (t) => {
  const texts = [
    '',
    '[]',
    '"x"',
    '{',
    '{}x',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{"a":1]',
    '{a:1}',
    '{"a":{"b":1}',
    'k8s\0\n\fv1',
    '{"a" "b"}',
  ];
  for (const text of texts) t.equal(laidOut(Buffer.from(text)), undefined, text);
});

t.test('stored objects are in the layout', async (t) => {
  t.ok(isStoredLayout(encodeStored({ kind: 'A', apiVersion: 'v1', metadata: { name: 'a' } })));
  t.ok(isStoredLayout(encodeStored({})));
});

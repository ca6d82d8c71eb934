import { test } from 'tap';
import { outlineOf } from '#apimachinery/codec/outline.js';

const of = (text: string) => outlineOf(Buffer.from(text));

test('what selectors look at', async (t) => {
  const object = {
    kind: 'Pod',
    metadata: {
      name: 'ä"\\\n',
      labels: { 'a/b': 'x', empty: '' },
      annotations: { text: '{"name":"other"},[' },
      managedFields: [{ fieldsV1: { 'k:{"name":"}"}': {} } }],
    },
    spec: { nodeName: 'n', priority: 3, hostNetwork: true, none: null, containers: [{ name: 'c', args: ['\\"]'] }] },
    status: { podIPs: [{ ip: '10.0.0.1' }], conditions: [[], {}] },
    data: {},
    list: ['a'],
  };
  t.same(of(JSON.stringify(object)), {
    kind: 'Pod',
    metadata: { name: 'ä"\\\n', labels: object.metadata.labels },
    spec: { nodeName: 'n', priority: 3, hostNetwork: true, none: null },
    status: { podIPs: object.status.podIPs },
    data: {},
  });
  t.same(of('{}'), {});
});

const unclear: Record<string, string> = {
  nothing: '',
  'no object': '[]',
  'spaces between': '{ "a":1}',
  'something behind it': '{"a":1}{',
  'no end': '{"a":{"b":"c"}',
  'no end of a string': '{"a":"b',
  'no end of an array': '{"a":[1,{"b":"]"}}',
  'no value': '{"a":}',
  'no colon': '{"a"1}',
  'no word of JSON': '{"a":yes}',
  'a number of another kind': '{"a":{"b":01}}',
  'a key that is written in another way': '{"\\u0061":1}',
  'a key that objects treat in their own way': '{"__proto__":{"metadata":{}}}',
};

test('what is left to a parser of JSON', async (t) => {
  for (const [name, text] of Object.entries(unclear)) t.equal(of(text), undefined, name);
});

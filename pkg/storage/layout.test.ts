import t from 'tap';
import { encodeStored, splice, unsplice } from '#storage/layout.js';

const pod = {
  spec: { note: '"metadata":{ and \\"metadata\\":{' },
  apiVersion: 'v1',
  metadata: { name: 'web-0', labels: { 'metadata":{': 'x' }, resourceVersion: '5' },
  kind: 'Pod',
};

const rows: { name: string; object: Parameters<typeof encodeStored>[0]; served: string }[] = [
  {
    name: 'a pod',
    object: pod,
    served: `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"17","name":"web-0","labels":{"metadata\\":{":"x"}},"spec":${JSON.stringify(pod.spec)}}`,
  },
  {
    name: 'empty metadata',
    object: { kind: 'Pod', apiVersion: 'v1', metadata: {} },
    served: '{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"17"}}',
  },
  {
    name: 'no metadata and no kind',
    object: { status: { metadata: { a: 1 } } } as object,
    served: '{"metadata":{"resourceVersion":"17"},"status":{"metadata":{"a":1}}}',
  },
  {
    name: 'a kind that tries to look like metadata',
    object: { kind: '"metadata":{', apiVersion: 'v1', metadata: { name: 'a' } },
    served: '{"kind":"\\"metadata\\":{","apiVersion":"v1","metadata":{"resourceVersion":"17","name":"a"}}',
  },
];

void t.test('the version is inserted and removed', async (t) => {
  for (const { name, object, served } of rows) {
    const stored = encodeStored(object);
    t.notMatch(stored.toString(), /"resourceVersion"/, `${name}: not stored`);
    t.equal(splice(stored, 17n).toString(), served, name);
    t.same(unsplice(splice(stored, 17n), 17n), stored, `${name}: and back`);
  }
});

void t.test('other layouts stay unchanged', async (t) => {
  const foreign = Buffer.from('k8s\0\n\v protobuf');
  t.same(splice(foreign, 17n), foreign);
  t.same(unsplice(splice(foreign, 17n), 17n), foreign);
});

const fields = { 'f:metadata': { 'f:labels': { '.': {}, 'f:ä"}': {} } } };
const managed = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: {
    managedFields: [
      { manager: 'é', operation: 'Apply', fieldsType: 'FieldsV1', fieldsV1: fields },
      { manager: 'b', operation: 'Update', fieldsV1: { 'f:status': {} }, subresource: 'status' },
      { manager: 'without fields' },
    ],
    name: 'web-0',
    resourceVersion: '5',
    uid: undefined,
  },
  spec: { text: '日本 \ud83d\ude00 "quoted"', list: [{}, []] },
  immutable: true,
  status: { phase: 'Pending' },
};

t.test('members keep their order after the head, managed fields come last', async (t) => {
  const stored = encodeStored(managed as object).toString();
  t.match(stored, /^{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","managedFields":\[/);
  const { resourceVersion: _, ...metadata } = managed.metadata;
  t.strictSame(JSON.parse(stored), JSON.parse(JSON.stringify({ ...managed, metadata })));
  const odd = JSON.parse('{"1":2,"spec":{},"__proto__":{"a":1},"kind":"A"}') as object;
  t.equal(encodeStored(odd).toString(), '{"kind":"A","metadata":{},"1":2,"spec":{},"__proto__":{"a":1}}');
});

t.test("additional fields of an object's text are stored", async (t) => {
  const text = {
    ownOf: <T extends object>(object: T) => ({ ...object, status: null }),
    inside: (member: string, value: object) => ({ ...value, [member]: null }),
  };
  t.equal(
    encodeStored({ metadata: { name: 'a' }, spec: { b: 1 } } as object, text).toString(),
    '{"metadata":{"name":"a","metadata":null},"spec":{"b":1,"spec":null},"status":null}',
  );
});

t.test('an object is inserted into memory with room', async (t) => {
  const stored = encodeStored(pod);
  const served = splice(stored, 17n);
  const memory = Buffer.alloc(served.length);
  t.equal(splice(stored, 17n, memory).buffer, memory.buffer);
  t.same(memory, served);
  t.same(splice(stored, 17n, Buffer.alloc(served.length - 1)), served);
});

import t from 'tap';
import {
  encodeStored,
  type StorableObject,
  type StoredVersion,
  splice,
  storedForm,
  unsplice,
} from '#storage/layout.js';
import type { Segmented } from '#storage/segments/segmented.js';

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

void t.test('the version is spliced in and out', async (t) => {
  for (const { name, object, served } of rows) {
    const stored = encodeStored(object);
    t.notMatch(stored.toString(), /"resourceVersion"/, `${name}: not stored`);
    t.equal(splice(stored, 17n).toString(), served, name);
    t.same(unsplice(splice(stored, 17n), 17n), stored, `${name}: and back`);
  }
});

void t.test('bytes of another layout are left alone', async (t) => {
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

/** The object as it is served in version 17, with what its bytes are made of. */
function servedForm(object: StorableObject): StoredVersion & { readonly json: Buffer } {
  const { bytes, parts } = storedForm(object);
  const json = splice(bytes, 17n);
  return { object: JSON.parse(json.toString()) as StorableObject, json, parts };
}

/** The same bytes, as if they were not in one piece. */
function segmented(bytes: Buffer): Segmented {
  const copyTo = (target: Buffer, at: number, from = 0) => void bytes.copy(target, at, from);
  return { length: bytes.length, copyTo, begins: (prefix) => bytes.indexOf(prefix) === 0 };
}

void t.test('a version made of another one takes over its bytes', async (t) => {
  const before = servedForm(managed);
  const old = before.object as typeof managed;
  const nexts: [string, StorableObject][] = [
    ['nothing changes', old],
    ['longer metadata', { ...old, metadata: { ...old.metadata, labels: { ä: 'ö' } } }],
    ['one part changes', { ...old, status: { phase: 'Running' } } as StorableObject],
    ['one part goes', { kind: 'Pod', metadata: old.metadata, status: old.status } as StorableObject],
    ['parts change places', { status: old.spec, spec: old.status, metadata: old.metadata } as StorableObject],
    ['a manager goes', { ...old, metadata: { ...old.metadata, managedFields: old.metadata.managedFields.slice(1) } }],
    ['undefined members', { ...old, status: undefined, metadata: { name: undefined } } as StorableObject],
  ];
  const inPieces = { ...before, json: segmented(before.json) };
  for (const [name, next] of nexts) {
    t.strictSame(storedForm(next, { before }), storedForm(next), name);
    t.strictSame(storedForm(next, { before: inPieces }), storedForm(next), `${name}, of bytes in pieces`);
  }
  const { metadata: _, ...rest } = JSON.parse(storedForm(old).bytes.toString()) as typeof managed;
  t.strictSame(rest, JSON.parse(JSON.stringify({ ...managed, metadata: undefined })));
  // What is shared is taken over without a look at it.
  Reflect.set(old.spec, 'text', 'changed');
  t.match(storedForm(old, { before }).bytes.toString(), /quoted/);
});

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

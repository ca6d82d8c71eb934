/** Like in 1.24, objects that fit the store only without managedFields are stored without them. */
import t from 'tap';
import {
  applyPatch,
  configMaps,
  mergePatch,
  startSpec,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

/** Long keys make managedFields as large as the fields themselves. */
function data(keys: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: keys }, (_, i) => [`${String(i).padStart(5, '0')}${'k'.repeat(122)}`, 'v']),
  );
}

t.test('objects that are too large with managedFields', withEtcd, async (t) => {
  const { client } = await startSpec(t);
  const path = configMaps('default');
  // etcd refuses one of them, the server's own limit the other.
  for (const keys of [6_500, 8_000]) {
    const url = `${path}/c${keys}`;
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: `c${keys}`, labels: { a: 'b' } } };
    const created = await client.post(path, { ...object, data: data(keys) });
    t.equal(created.status, 201, created.text.slice(0, 300));
    t.equal(created.json.metadata.managedFields, undefined);
    await client.delete(url);
    const small = await client.post(path, object);
    t.equal(small.json.metadata.managedFields.length, 1);
    const put = await client.put(url, { ...object, data: data(keys) });
    t.equal(put.status, 200, put.text.slice(0, 300));
    t.equal(put.json.metadata.managedFields, undefined);
    await client.delete(url);
    await client.post(path, object);
    const patched = await client.patch(url, mergePatch, { data: data(keys) });
    t.equal(patched.status, 200, patched.text.slice(0, 300));
    t.equal(patched.json.metadata.managedFields, undefined);
    const applied = await client.patch(`${url}?fieldManager=m`, applyPatch, { ...object, data: data(keys) });
    t.equal(applied.status, 413, 'who applies is never without');
    await client.delete(url);
  }
});

/** Two API servers over one store: each sees the other's writes, and neither loses one. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

const path = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string, data: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
const merge = { 'content-type': 'application/merge-patch+json' };

t.test('writes through one server are visible through the other at once', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  const [a, b] = [await startServer(t, { store }), await startServer(t, { store })];
  for (let i = 0; i < 50; i += 1) {
    const name = `c${i}`;
    const created = await call(a, 'POST', path, { body: configMap(name) });
    const read = await call(b, 'GET', `${path}/${name}`);
    t.same(read.json, created.json);
    const patched = await call(b, 'PATCH', `${path}/${name}`, { headers: merge, body: { data: { x: String(i) } } });
    t.equal(patched.status, 200);
    t.equal(
      (await call(a, 'PUT', `${path}/${name}`, { body: created.json })).status,
      409,
      'the old version is refused',
    );
    t.equal((await call(a, 'GET', `${path}/${name}`)).json.data.x, String(i));
    if (i % 2 === 0) {
      t.equal((await call(b, 'DELETE', `${path}/${name}`)).status, 200);
      t.equal((await call(a, 'PATCH', `${path}/${name}`, { headers: merge, body: {} })).status, 404);
      t.equal((await call(a, 'POST', path, { body: configMap(name) })).status, 201);
    }
  }
  const lists = await Promise.all([call(a, 'GET', path), call(b, 'GET', path)]);
  t.same(lists[0]?.json.items, lists[1]?.json.items);
});

t.test('counters incremented through both servers lose nothing', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  const servers = [await startServer(t, { store }), await startServer(t, { store })];
  const [first] = servers;
  if (first === undefined) throw new Error('no server');
  await call(first, 'POST', path, { body: configMap('counter', { n: '0' }) });
  const rounds = 25;
  const increment = async (server: typeof first) => {
    for (let done = 0; done < rounds; ) {
      const { json } = await call(server, 'GET', `${path}/counter`);
      const next = { ...json, data: { n: String(Number(json.data.n) + 1) } };
      const { status } = await call(server, 'PUT', `${path}/counter`, { body: next });
      if (status === 200) done += 1;
      else if (status !== 409) throw new Error(`unexpected ${status}`);
    }
  };
  await Promise.all([...servers, ...servers].map(increment));
  t.equal((await call(first, 'GET', `${path}/counter`)).json.data.n, String(4 * rounds));
});

t.test('a watch on one sees the other server’s writes in order', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  const [a, b] = [await startServer(t, { store }), await startServer(t, { store })];
  const start = (await call(a, 'GET', path)).json.metadata.resourceVersion;
  for (let i = 0; i < 100; i += 1) await call(i % 2 === 0 ? a : b, 'POST', path, { body: configMap(`w${i}`) });
  const { text } = await call(b, 'GET', `${path}?watch=1&resourceVersion=${start}&timeoutSeconds=1`);
  const seen = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).object.metadata.name);
  t.same(
    seen,
    Array.from({ length: 100 }, (_, i) => `w${i}`),
  );
});

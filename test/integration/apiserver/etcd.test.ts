/** The server on a real etcd: an object from create to watch to delete, and an etcd outage. */
import { existsSync } from 'node:fs';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

const path = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string, data: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
const merge = { 'content-type': 'application/merge-patch+json' };

t.test('a real etcd', { skip: existsSync('/usr/bin/etcd') ? false : 'no etcd on this machine' }, async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const open = () => {
    const store = new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random });
    t.teardown(() => store.close());
    return store;
  };
  const [a, b] = [await startServer(t, { store: open() }), await startServer(t, { store: open() })];

  await t.test('two servers read each other’s writes', async (t) => {
    for (let i = 0; i < 20; i += 1) {
      const created = await call(a, 'POST', path, { body: configMap(`c${i}`) });
      t.same((await call(b, 'GET', `${path}/c${i}`)).json, created.json);
      const patched = await call(b, 'PATCH', `${path}/c${i}`, { headers: merge, body: { data: { n: String(i) } } });
      t.equal(patched.status, 200);
      t.equal((await call(a, 'PUT', `${path}/c${i}`, { body: created.json })).status, 409);
    }
    const first = (await call(a, 'GET', `${path}?limit=8`)).json;
    await call(b, 'DELETE', `${path}/c9`);
    const second = (await call(b, 'GET', `${path}?limit=100&continue=${first.metadata.continue}`)).json;
    t.equal(first.items.length + second.items.length, 20, 'pages from two servers are one snapshot');
    t.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
  });

  await t.test('a watch sees every change with its version', async (t) => {
    const from = (await call(a, 'GET', path)).json.metadata.resourceVersion;
    const watching = call(b, 'GET', `${path}?watch=1&resourceVersion=${from}&timeoutSeconds=2`);
    const created = (await call(a, 'POST', path, { body: configMap('w') })).json;
    await call(a, 'DELETE', `${path}/w`);
    const events = (await watching).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    t.match(events, [
      { type: 'ADDED', object: { metadata: { name: 'w', resourceVersion: created.metadata.resourceVersion } } },
      { type: 'DELETED', object: { metadata: { name: 'w' } } },
    ]);
    t.not(events[1].object.metadata.resourceVersion, created.metadata.resourceVersion, 'the version of the deletion');
  });

  await t.test('during an etcd outage old data can be read, and everything recovers afterwards', async (t) => {
    await etcd.kill();
    const old = await call(a, 'GET', `${path}/c1?resourceVersion=0`);
    t.equal(old.status, 200, old.text);
    const refused = await call(a, 'POST', `${path}?timeout=2s`, { body: configMap('lost') });
    t.ok([503, 504].includes(refused.status), refused.text);
    // The health check times out after two seconds, long before the request.
    const unready = await call(a, 'GET', '/readyz');
    t.equal(unready.status, 500, `${unready.status} ${unready.text}`);
    await etcd.restart();
    for (;;) {
      const { status } = await call(a, 'POST', path, { body: configMap('back') });
      if (status === 201 || status === 409) break;
    }
    // The other server may still be connecting; it must not report the object as missing then.
    for (;;) {
      const { status, text } = await call(b, 'GET', `${path}/back`);
      if (status === 200) break;
      t.ok([500, 503, 504].includes(status), `${status} ${text}`);
    }
  });
});

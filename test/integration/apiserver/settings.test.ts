/** Options of the API server that change what clients see, with the behaviour of release 1.24. */
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { call, callHttps, startServer } from '#test/integration/apiserver/server.js';

t.setTimeout(120_000);

const path = '/api/v1/namespaces/default/configmaps';

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`${dialect.name}: discovery names the external host`, async (t) => {
    const { argv } = await clusterCredentials(t, dialect, 'token,user,1\n');
    const server = await startCompleteServer(t, { dialect, argv: [...argv, '--external-hostname=api.example:8443'] });
    const user = { name: 'admin', groups: [dialect.groups.masters] };
    const transport = new InProcessTransport({ handler: server.handler, user });
    t.teardown(() => transport.close());
    const read = async (url: string) => {
      const { body } = await transport.request({ method: 'GET', path: url, headers: {} });
      return JSON.parse((await readAll(body)).toString());
    };
    t.match(await read('/api'), { serverAddressByClientCIDRs: [{ serverAddress: 'api.example:8443' }] });
    t.match(await read('/.well-known/openid-configuration'), { jwks_uri: 'https://api.example:8443/openid/v1/jwks' });
  });

  t.test(`${dialect.name}: without a garbage collector, deletions leave nothing for it`, async (t) => {
    const settings = { deleteWorkers: 1, collectsGarbage: false, isUncached: () => false };
    const server = await startServer(t, { dialect, options: { settings } });
    await call(server, 'POST', path, { body: { metadata: { name: 'a' } } });
    const removed = await call(server, 'DELETE', `${path}/a?propagationPolicy=Foreground`);
    t.match(removed, { status: 200, json: { kind: 'Status', status: 'Success' } });
    t.equal((await call(server, 'GET', `${path}/a`)).status, 404);
  });

  t.test(`${dialect.name}: as many objects of a collection are deleted at once as there are workers`, async (t) => {
    for (const deleteWorkers of [1, 3]) {
      let most = 0;
      let now = 0;
      const admission = [
        {
          name: 'Counter',
          handles: () => true,
          validate: async ({ operation }: { readonly operation: string }) => {
            if (operation !== 'DELETE') return;
            now += 1;
            most = Math.max(most, now);
            await new Promise((resolve) => setImmediate(resolve));
            now -= 1;
          },
        },
      ];
      const settings = { deleteWorkers, collectsGarbage: true, isUncached: () => false };
      const server = await startServer(t, { dialect, options: { settings }, dependencies: { admission } });
      for (let i = 0; i < 7; i += 1) await call(server, 'POST', path, { body: { metadata: { name: `c${i}` } } });
      t.equal((await call(server, 'DELETE', path)).status, 200);
      t.equal(most, deleteWorkers, `${deleteWorkers} workers`);
      t.same((await call(server, 'GET', path)).json.items, []);
    }
  });

  t.test(`${dialect.name}: reads of resources without a cache are as new as the store`, async (t) => {
    const store = new MemoryStore({ clock });
    t.teardown(() => store.close());
    const settings = { deleteWorkers: 1, collectsGarbage: true, isUncached: () => true };
    const writer = await startServer(t, { dialect, store });
    const reader = await startServer(t, { dialect, store, options: { settings } });
    for (let i = 0; i < 20; i += 1) {
      const { json } = await call(writer, 'POST', path, { body: { metadata: { name: `c${i}` } } });
      const { resourceVersion } = json.metadata;
      t.equal(
        (await call(reader, 'GET', `${path}/c${i}?resourceVersion=0`)).json.metadata.resourceVersion,
        resourceVersion,
      );
      const list = await call(reader, 'GET', `${path}?resourceVersion=0`);
      t.equal(list.json.items.length, i + 1);
      t.ok(Number(list.json.metadata.resourceVersion) >= Number(resourceVersion));
    }
  });

  t.test(`${dialect.name}: a server that ends sends clients elsewhere until its requests have ended`, async (t) => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let arrived: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const admission = [
      {
        name: 'Hold',
        handles: () => true,
        validate: async () => {
          arrived();
          await held;
        },
      },
    ];
    const server = await startServer(t, {
      dialect,
      https: true,
      options: { sendRetryAfter: true },
      dependencies: { admission },
    });
    const slow = callHttps(server, 'POST', path, { body: { metadata: { name: 'slow' } } });
    await isHeld;
    const closed = server.close();
    const refused = await callHttps(server, 'GET', path);
    t.equal(refused.status, 429);
    t.equal(refused.headers['retry-after'], '5');
    t.equal(refused.headers['connection'], 'close');
    t.equal(refused.text, 'The apiserver is shutting down, please try again later.\n');
    t.equal((await callHttps(server, 'GET', '/livez')).status, 200);
    t.equal((await callHttps(server, 'GET', '/readyz')).status, 500, 'not ready any more');
    release();
    t.equal((await slow).status, 201, 'the request under way has its response');
    await closed;
    await t.rejects(callHttps(server, 'GET', '/livez'), { code: 'ECONNREFUSED' });
  });
}

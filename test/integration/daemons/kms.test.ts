/** Encryption at rest with a key management service: what the API server stores, and what it answers without it. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { KmsPlugin } from '#storage/encryption/testing/kms-plugin.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { startApi, until } from '#test/integration/daemons/api.js';

t.setTimeout(120_000);

async function setUp(t: Test, dialect: Dialect) {
  const folder = await mkdtemp(join(tmpdir(), 'kms-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const plugin = new KmsPlugin(join(folder, 'kms.sock'));
  t.teardown(() => plugin.stop());
  const provider = { kms: { name: 'vault', endpoint: `unix://${plugin.socket}`, timeout: '2s' } };
  const file = join(folder, 'encryption.yaml');
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: dialect.apiServerConfigVersion,
      kind: 'EncryptionConfiguration',
      resources: [{ resources: ['secrets'], providers: [provider, { identity: {} }] }],
    }),
  );
  const store = new MemoryStore({ clock });
  const start = (isOnlyListening = false) =>
    startApi(t, { dialect, store, args: [`--encryption-provider-config=${file}`], isOnlyListening });
  return { plugin, start, store };
}

/** Asks as an administrator. */
function ask(port: number, path: string, body?: object): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer root', 'content-type': 'application/json' };
    const method = body === undefined ? 'GET' : 'POST';
    const options = { host: '127.0.0.1', port, path, method, headers, agent: false, rejectUnauthorized: false };
    const call = httpsRequest(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const secrets = '/api/v1/namespaces/default/secrets';
const secret = (name: string) => ({ metadata: { name }, stringData: { password: 'hunter2' } });

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`secrets in the store of ${dialect.shortName}`, async (t) => {
    const { plugin, start, store } = await setUp(t, dialect);
    await plugin.start();
    const { port } = await start();
    t.equal((await ask(port, secrets, secret('a'))).status, 201);
    const { kvs } = await store.range({ start: `/registry/secrets/default/a`, end: '/registry/secrets/default/b' });
    const stored = kvs[0]?.value.toString('latin1') ?? '';
    const prefix = `${dialect.encryptedPrefix}kms:v1:vault:`;
    t.equal(stored.slice(0, prefix.length), prefix);
    t.notMatch(stored, /hunter2|aHVudGVyMg/);
    t.match(await ask(port, `${secrets}/a`), { status: 200, text: /aHVudGVyMg/ });
    for (const endpoint of ['healthz', 'livez', 'readyz']) {
      t.same(await ask(port, `/${endpoint}/kms-provider-0`), { status: 200, text: 'ok' }, endpoint);
    }
    t.equal((await ask(port, '/readyz/kms-provider-1')).status, 404);

    plugin.stop();
    t.match(await ask(port, secrets, secret('b')), {
      status: 500,
      text: /"message":"Internal error occurred: rpc error: code = (Unavailable|DeadlineExceeded) desc = .*"reason":"InternalError"/,
    });
    t.match(await ask(port, `${secrets}/a`), { status: 200 }, 'the cache serves on');
    t.equal((await ask(port, '/api/v1/namespaces/default/configmaps', { metadata: { name: 'b' } })).status, 201);
  });
}

t.test('a server starts without its service, and serves all else until it is there', async (t) => {
  const { plugin, start } = await setUp(t, orchDialect);
  await plugin.start();
  const first = await start();
  t.equal((await ask(first.port, secrets, secret('a'))).status, 201);
  plugin.stop();
  const { port } = await start(true);
  t.match(await ask(port, '/livez/kms-provider-0'), {
    status: 500,
    text: 'internal server error: reason withheld\n',
  });
  t.match(await ask(port, '/readyz?verbose'), { status: 500, text: /\[-\]kms-provider-0 failed: reason withheld/ });
  t.equal((await ask(port, '/api/v1/namespaces/default/configmaps')).status, 200);
  t.not((await ask(port, `${secrets}/a`)).status, 200);
  await plugin.start();
  await until('the secret', async () => (await ask(port, `${secrets}/a`)).status === 200);
});
